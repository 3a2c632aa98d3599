import pLimit from 'p-limit'
import { type JsonObject } from '../../base/json.ts'
import { listOf, objectOf, textOf } from '../json-members.ts'
import { type Case, type Suite } from './suites.ts'

/** The most test cases that run at the same time. */
const AT_A_TIME = 8

/** Runs one test case of a prompt. Its result has the form of the reply of `POST /api/prompts/{id}/tests/run`. */
export type RunOne = (id: string, testCase: Case) => Promise<JsonObject>

/** The result of one case. */
export interface CaseReport {
  readonly id: string
  readonly testCase: Case
  readonly pass: boolean
  /** The reasons why the case failed, a line each. */
  readonly failures: readonly string[]
  readonly durationMs: number
  /** The reply of the service for the case. */
  readonly result: JsonObject
}

/** Runs all test cases. @param onReport called for each case in the order of the suites, as soon as it and all before it have run */
export async function runSuites (suites: readonly Suite[], run: RunOne, onReport: (report: CaseReport) => Promise<void>): Promise<readonly CaseReport[]> {
  const limit = pLimit(AT_A_TIME)
  const running = suites.flatMap(({ id, cases }) => cases.map(testCase => limit(async () => reportOf(id, testCase, await run(id, testCase)))))
  // An error that would make every case fail, such as an unreachable service, cancels the cases that have not begun.
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
