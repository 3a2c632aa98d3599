import { type CaseReport } from './run-suites.ts'

/** The results of tests as JUnit XML, which most build servers read. Each prompt is a suite, each of its tests a case. */
export function junitOf (reports: readonly CaseReport[]): string {
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

/** Whether the prompt of a case could not be rendered or answered, so that there was nothing to check. */
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

/** Escapes a text for XML. Control characters that XML 1.0 cannot represent become U+FFFD. */
function escaped (text: string): string {
  return text.toWellFormed().replaceAll(/[&<>"\n\t\r]/g, character => ENTITIES[character] ?? '').replaceAll(/[\p{Cc}\ufffe\uffff]/gu, '\ufffd')
}
