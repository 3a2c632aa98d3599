import { readFile, realpath } from 'node:fs/promises'
import { extname, join } from 'node:path'
import pLimit from 'p-limit'
import { type Json, type JsonObject, listOf, objectOf, parseJson, textOf } from '../base/json.ts'
import { isInside } from '../store/directory-paths.ts'
import { type ApiClient } from './api-client.ts'
import { ENTRY_KINDS, type CliKind, pathOf, storedText } from './entries.ts'
import { readFolder } from './folder.ts'
import { usageError } from './output.ts'
import { createPlaceFinder } from './text-places.ts'

export interface Suite {
  readonly id: string
  readonly cases: readonly Case[]
}

export interface Case {
  readonly value: JsonObject
  readonly name: string
  /** As the user reaches the file; left out for a stored case. */
  readonly place?: { readonly file: string, readonly line: number, readonly column: number }
  readonly known?: Json
}

const TESTS = ENTRY_KINDS.find(({ key }) => key === 'tests') as CliKind

/** @throws CliError */
export async function suitesOf (folder: string, warn: (message: string) => void): Promise<readonly Suite[]> {
  const { root, entries, problems } = await readFolder(folder, warn, [TESTS])
  if (problems.length > 0) throw usageError(`aps lint says more of what cannot be read:\n${problems.join('\n')}`)
  return await Promise.all([...entries.values()].map(async ({ id, file, entry }): Promise<Suite> => {
    const values = parseJson(storedText(entry))
    if (!Array.isArray(values)) throw usageError(`${join(folder, file)}: expected a list of cases; aps lint says more`)
    const find = createPlaceFinder(['.json', '.yaml', '.yml'].includes(extname(file)) ? await readFile(join(root, file), 'utf8') : '')
    return {
      id,
      cases: await Promise.all((values as readonly Json[]).map(objectOf).map(async (value, index): Promise<Case> => {
        const known = await readKnown(root, value)
        return { ...caseOf(value, index), place: { file: join(folder, file), ...find({ field: [index] }) }, known }
      }))
    }
  }))
}

/** @param ids empty for all prompts @throws CliError */
export async function storedSuites (ids: readonly string[], api: ApiClient): Promise<readonly Suite[]> {
  const wanted = ids.length > 0 ? ids : (await api.list('/api/tests', { limit: '1000' })).map(textOf)
  const suites: Suite[] = []
  for (const id of wanted) suites.push({ id, cases: listOf(objectOf(await api.get(pathOf(TESTS, id)))['tests']).map(objectOf).map(caseOf) })
  return suites
}

function caseOf (value: JsonObject, index: number): Case {
  return { value, name: textOf(value['description']) || `case ${index + 1}` }
}

/** @param root without symbolic links @throws CliError */
async function readKnown (root: string, { tools = 'stub' }: JsonObject): Promise<Json | undefined> {
  const name = textOf(tools)
  if (['stub', 'live', ''].includes(name)) return undefined
  try {
    const file = await realpath(join(root, name))
    if (!isInside(root, file)) throw new Error('it lies outside of the folder')
    return parseJson(await readFile(file, 'utf8'))
  } catch (error) {
    throw usageError(`tools: ${name} cannot be read: ${(error as Error).message}`)
  }
}

const AT_A_TIME = 8

export type RunOne = (id: string, testCase: Case) => Promise<JsonObject>

export interface CaseReport {
  readonly id: string
  readonly testCase: Case
  readonly pass: boolean
  readonly failures: readonly string[]
  readonly durationMs: number
  readonly result: JsonObject
}

/** @param onReport in the order of the suites, each once it and all before it have run */
export async function runSuites (suites: readonly Suite[], run: RunOne, onReport: (report: CaseReport) => Promise<void>): Promise<readonly CaseReport[]> {
  const limit = pLimit(AT_A_TIME)
  const running = suites.flatMap(({ id, cases }) => cases.map(testCase => limit(async () => reportOf(id, testCase, await run(id, testCase)))))
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

function reportOf (id: string, testCase: Case, result: JsonObject): CaseReport {
  const error = objectOf(result['error'])
  const failed = listOf(result['checks']).map(objectOf).filter(({ pass }) => pass !== true)
  return {
    id,
    testCase,
    pass: result['pass'] === true,
    failures: [
      ...(result['error'] === undefined ? [] : [`${textOf(error['message'])} (${textOf(error['code'])})`]),
      ...failed.map(({ type, reason }) => `${textOf(type)}: ${textOf(reason) || 'it does not hold'}`)
    ],
    durationMs: Number(result['durationMs'] ?? 0),
    result
  }
}
