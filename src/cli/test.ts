import { existsSync } from 'node:fs'
import { readFile, realpath } from 'node:fs/promises'
import { extname, join } from 'node:path'
import pLimit from 'p-limit'
import { type Json, type JsonObject, listOf, objectOf, parseJson, textOf } from '../base/json.ts'
import { inOneLine } from '../base/text.ts'
import { RejectedEntry } from '../registry/diagnostic.ts'
import { parseTests } from '../registry/kinds/tests-kind.ts'
import { isInside } from '../store/directory-paths.ts'
import { type ApiClient, ApiError, type ApiReply } from './api-client.ts'
import { type Cli } from './context.ts'
import { ENTRY_KINDS, type CliKind, pathOf, storedText } from './entries.ts'
import { readFolder } from './folder.ts'
import { annotationOf } from './lint.ts'
import { CliError, EXIT, type Output, usageError } from './output.ts'
import { createPlaceFinder } from './text-places.ts'

type TestFormat = 'text' | 'json' | 'junit' | 'github'

export interface TestOptions { readonly server?: true, readonly trust?: true, readonly label?: string, readonly format: TestFormat }

/** @param what a folder, or ids of prompts @throws CliError */
export async function testPrompts (what: readonly string[], options: TestOptions, opened: ReturnType<Cli['open']>, cli: Cli): Promise<void> {
  const { server, label, trust, format: wanted } = options
  const { output } = opened
  const format = output.wantsJson ? 'json' : wanted
  const folders = what.filter(each => existsSync(each))
  const folder = folders[0] ?? (what.length === 0 && server !== true ? '.' : undefined)
  if (folders.length > 1 || (folders.length > 0 && what.length > 1)) throw usageError('expected one folder, or ids of prompts')

  const warnings: string[] = []
  const warn = (message: string): void => { warnings.push(message) }
  const suites = folder === undefined ? await storedSuites(what, opened.api) : await suitesOf(folder, warn)
  const { api, close } = folder === undefined || server === true
    ? { api: opened.api, close: async () => {} }
    : await (await import('./local.ts')).openFolder(folder, trust === true, warn, cli)
  try {
    for (const warning of warnings) await output.words(`warning: ${warning}`)
    const reports = await runSuites(suites, api, label, each => printReport(each, format, output))
    await printReports(reports, format, output)
    if (reports.length === 0) throw new CliError(EXIT.NO, 'there is no test')
    const failed = reports.filter(({ pass }) => !pass).length
    const words = `${reports.length - failed} passed, ${failed} failed`
    if (failed > 0) throw new CliError(EXIT.NO, words)
    await output.words(words)
  } finally {
    await close()
  }
}

interface Suite {
  readonly id: string
  readonly cases: readonly Case[]
}

interface Case {
  readonly value: JsonObject
  readonly name: string
  /** As the user reaches the file; left out for a stored case. */
  readonly place?: { readonly file: string, readonly line: number, readonly column: number }
  /** A bundle. */
  readonly known?: object | undefined
}

const TESTS = ENTRY_KINDS.find(({ key }) => key === 'tests') as CliKind

/** @throws CliError */
async function suitesOf (folder: string, warn: (message: string) => void): Promise<readonly Suite[]> {
  const { root, entries, problems } = await readFolder(folder, warn, [TESTS])
  if (problems.length > 0) throw usageError(`aps lint says more of what cannot be read:\n${problems.join('\n')}`)
  return await Promise.all([...entries.values()].map(async ({ id, file, entry }): Promise<Suite> => {
    const values = parseJson(storedText(entry))
    if (!Array.isArray(values)) throw usageError(`${join(folder, file)}: expected a list of cases; aps lint says more`)
    const find = createPlaceFinder(['.json', '.yaml', '.yml'].includes(extname(file)) ? await readFile(join(root, file), 'utf8') : '')
    return {
      id,
      cases: await Promise.all((values as readonly Json[]).map(objectOf).map(async (value, index): Promise<Case> => {
        const named = caseOf(value, index)
        checkCase(id, named)
        const known = await readKnown(root, value)
        return { ...named, place: { file: join(folder, file), ...find({ field: [index] }) }, known }
      }))
    }
  }))
}

/** @throws CliError */
function checkCase (id: string, { value, name }: Case): void {
  try {
    parseTests([value])
  } catch (error) {
    throw error instanceof RejectedEntry ? usageError(`tests of ${id}, ${name}: ${error.message}; aps lint says more`) : error
  }
}

/** @param ids empty for all prompts @throws CliError */
async function storedSuites (ids: readonly string[], api: ApiClient): Promise<readonly Suite[]> {
  const wanted = ids.length > 0 ? ids : (await api.list('/api/tests', { limit: '1000' })).map(textOf)
  const suites: Suite[] = []
  for (const id of wanted) suites.push({ id, cases: listOf(objectOf(await api.get(pathOf(TESTS, id)))['tests']).map(objectOf).map(caseOf) })
  return suites
}

function caseOf (value: JsonObject, index: number): Case {
  return { value, name: textOf(value['description']) || `case ${index + 1}` }
}

/** A test reads only the calls of a bundle, which may be written by hand; the API takes whole bundles. */
const NO_BUNDLE = { version: 2, prompt: { id: '', revision: '' }, caller: {}, now: '', variables: {}, history: [], environs: [], hash: '' }

/** @param root without symbolic links @throws CliError */
async function readKnown (root: string, { tools = 'stub' }: JsonObject): Promise<object | undefined> {
  const name = textOf(tools)
  if (['stub', 'live', ''].includes(name)) return undefined
  try {
    const file = await realpath(join(root, name))
    if (!isInside(root, file)) throw new Error('it lies outside of the folder')
    const calls = listOf(objectOf(parseJson(await readFile(file, 'utf8')))['tools']).map(objectOf).filter(({ tool }) => typeof tool === 'string')
    return { ...NO_BUNDLE, tools: calls.map(({ tool, arguments: given, value }) => ({ tool, arguments: objectOf(given), value })) }
  } catch (error) {
    throw usageError(`tools: ${name} cannot be read: ${(error as Error).message}`)
  }
}

const AT_A_TIME = 8

type CaseReply = ApiReply<'post', '/api/prompts/{id}/tests/run'>

interface CaseReport {
  readonly id: string
  readonly testCase: Case
  readonly pass: boolean
  readonly failures: readonly string[]
  readonly durationMs: number
  readonly result: CaseReply
}

/** @param label without one the served version is tested @param onReport in the order of the suites, each once it and all before it have run */
async function runSuites (
  suites: readonly Suite[],
  api: ApiClient,
  label: string | undefined,
  onReport: (report: CaseReport) => Promise<void>
): Promise<readonly CaseReport[]> {
  const limit = pLimit(AT_A_TIME)
  const running = suites.flatMap(({ id, cases }) => cases.map(testCase => limit(async () => reportOf(id, testCase, await runCase(id, testCase, api, label)))))
  // An error that would make every case fail cancels the cases that have not begun.
  void Promise.all(running).catch(() => { limit.clearQueue() })
  const reports: CaseReport[] = []
  for (const each of running) {
    const report = await each
    reports.push(report)
    await onReport(report)
  }
  return reports
}

async function runCase (id: string, { value, known }: Case, api: ApiClient, label: string | undefined): Promise<CaseReply> {
  try {
    return await api.ask('post', '/api/prompts/{id}/tests/run', { id, label }, { case: value, known })
  } catch (error) {
    // An error that is not about this case, such as a missing right, would make every case fail.
    if (!(error instanceof ApiError) || ![EXIT.NO, EXIT.USAGE].includes(error.exitCode as 1)) throw error
    return { id, pass: false, durationMs: 0, checks: [], error: { code: error.code, message: error.message } }
  }
}

function reportOf (id: string, testCase: Case, result: CaseReply): CaseReport {
  const { pass, error, checks, durationMs } = result
  const failed = checks.filter(check => !check.pass).map(({ type, reason }) => `${type}: ${reason || 'it does not hold'}`)
  return { id, testCase, pass, failures: [...(error === undefined ? [] : [`${error.message} (${error.code})`]), ...failed], durationMs, result }
}

async function printReport (report: CaseReport, format: TestFormat, output: Output): Promise<void> {
  if (format === 'text') return await printLines(report, output)
  if (format === 'github' && !report.pass) await output.text(annotation(report))
}

async function printReports (reports: readonly CaseReport[], format: TestFormat, output: Output): Promise<void> {
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
  return `  <testsuite name="${escaped(id)}" ${counts(cases)}>\n${cases.map(elementOf).join('')}  </testsuite>\n`
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
  return result.error !== undefined
}

function elementOf (report: CaseReport): string {
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
