import { inOneLine } from '../../base/text.ts'
import { annotationOf } from '../folder/lint-format.ts'
import { type Output } from '../output.ts'
import { junitOf } from './junit.ts'
import { type CaseReport } from './run-suites.ts'

/** The form of test results: for people, for programs, for build servers that read JUnit XML, or as annotations of GitHub's workflows. */
export type TestFormat = 'text' | 'json' | 'junit' | 'github'

/** Prints the result of one case as soon as it has run, if the user wants the form `text`, or `github`, which shows failed cases only. */
export async function printReport (report: CaseReport, format: TestFormat, output: Output): Promise<void> {
  if (format === 'text') return await printLines(report, output)
  if (format === 'github' && !report.pass) await output.text(annotation(report))
}

/** Prints the results of all cases, if the user wants the form `junit` or `json`, which is one document. */
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
