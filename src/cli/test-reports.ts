import { inOneLine } from '../base/text.ts'
import { annotationOf } from './lint-format.ts'
import type { Output } from './output.ts'
import type { CaseReport } from './test-suites.ts'

export type TestFormat = 'text' | 'json' | 'junit' | 'github'

export async function printReport (report: CaseReport, format: TestFormat, output: Output): Promise<void> {
  if (format === 'text') return await printLines(report, output)
  if (format === 'github' && !report.pass) await output.text(annotation(report))
}

export async function printReports (reports: readonly CaseReport[], format: TestFormat, output: Output): Promise<void> {
  if (format === 'junit') return await output.text(junitOf(reports))
  if (format !== 'json') return
  await output.json(reports.map(({ id, testCase: { name, place }, pass, failures, durationMs, result }) => {
    const { version = null, output: text = null, checks = [] } = result
    const facts = { id, case: name, file: place?.file ?? null, line: place?.line ?? null, version, pass, durationMs }
    return { ...facts, failures: [...failures], output: text, checks }
  }))
}

async function printLines ({ id, testCase: { name }, pass, failures, durationMs }: CaseReport, output: Output): Promise<void> {
  await output.styledPiece(pass ? 'green' : 'red', pass ? 'ok   ' : 'FAIL ')
  await output.piece(`${id}: ${inOneLine(name)} (${durationMs} ms)\n`)
  for (const failure of failures) await output.text(`     ${inOneLine(failure)}`)
}

function annotation ({ id, testCase: { name, place }, failures }: CaseReport): string {
  return annotationOf({
    file: place?.file ?? '',
    line: place?.line ?? 1,
    column: place?.column ?? 1,
    severity: 'error',
    code: `${id}: ${name}`,
    message: failures.join('\n'),
    hint: ''
  })
}

function junitOf (reports: readonly CaseReport[]): string {
  const suites = [...grouped(reports)].map(([id, cases]) => suiteOf(id, cases)).join('')
  return `<?xml version="1.0" encoding="UTF-8"?>
<testsuites ${counts(reports)}>
${suites}</testsuites>
`
}

function suiteOf (id: string, cases: readonly CaseReport[]): string {
  return `  <testsuite name="${escaped(id)}" ${counts(cases)}>\n${cases.map(caseOf).join('')}  </testsuite>\n`
}

function grouped (reports: readonly CaseReport[]): ReadonlyMap<string, readonly CaseReport[]> {
  const groups = new Map<string, CaseReport[]>()
  for (const report of reports) groups.set(report.id, [...groups.get(report.id) ?? [], report])
  return groups
}

function counts (reports: readonly CaseReport[]): string {
  const errors = reports.filter(isError).length
  const failures = reports.filter(({ pass }) => !pass).length - errors
  return `tests="${reports.length}" failures="${failures}" errors="${errors}" time="${seconds(reports.reduce((sum, { durationMs }) => sum + durationMs, 0))}"`
}

function isError ({ result }: CaseReport): boolean {
  return result['error'] !== undefined
}

function caseOf (report: CaseReport): string {
  const { id, testCase: { name, place }, pass, failures, durationMs } = report
  const source = place === undefined ? '' : ` file="${escaped(place.file)}" line="${place.line}"`
  const head = `    <testcase classname="${escaped(id)}" name="${escaped(name)}"${source} time="${seconds(durationMs)}"`
  if (pass) return `${head}/>\n`
  const what = isError(report) ? 'error' : 'failure'
  return `${head}>\n      <${what} message="${escaped(failures[0] ?? '')}">${escaped(failures.join('\n'))}</${what}>\n    </testcase>\n`
}

function seconds (milliseconds: number): string {
  return (milliseconds / 1000).toFixed(3)
}

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', '\n': '&#10;', '\t': '&#9;', '\r': '&#13;' }

/** XML 1.0 cannot represent some control characters: they become U+FFFD. */
function escaped (text: string): string {
  return text.toWellFormed().replaceAll(/[&<>"\n\t\r]/g, character => ENTITIES[character] ?? '').replaceAll(/[\p{Cc}\ufffe\uffff]/gu, '\ufffd')
}
