import pLimit from 'p-limit'
import { type JsonObject } from '../../base/json.ts'
import { listOf, objectOf, textOf } from '../json-members.ts'
import { type Case, type Suite } from './suites.ts'

/** The number of cases that are run at a time. */
const AT_A_TIME = 8

/** Runs one case of a prompt's tests; gives what `POST /api/prompts/{id}/tests/run` answers. */
export type RunOne = (id: string, testCase: Case) => Promise<JsonObject>

/** The result of one case. */
export interface CaseReport {
  readonly id: string
  readonly testCase: Case
  readonly pass: boolean
  /** What does not hold, a line each. */
  readonly failures: readonly string[]
  readonly durationMs: number
  /** The reply of the service for the case. */
  readonly result: JsonObject
}

/** Runs all cases. @param onReport told of each in the order of the suites, as soon as those before it are done */
export async function runSuites (suites: readonly Suite[], run: RunOne, onReport: (report: CaseReport) => Promise<void>): Promise<readonly CaseReport[]> {
  const limit = pLimit(AT_A_TIME)
  const running = suites.flatMap(({ id, cases }) => cases.map(testCase => limit(async () => reportOf(id, testCase, await run(id, testCase)))))
  // One that fails for all ends the rest, and none of them is left without a listener.
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
