import { useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import type { paths } from '../../../.build/api.d.ts'
import { ApiError } from '../../api/api-error.ts'
import { api, take, takeTagged } from '../../api/client.ts'
import { queries } from '../../api/queries.ts'
import type { Tagged } from '../../api/tagged.ts'
import { t } from '../../text/text.ts'

/** How many test cases run at a time. */
const AT_A_TIME = 4

/** A test case as it is stored. */
export type Case = Readonly<Record<string, unknown>>

/** The state of a test case that was started: it is running, it has a result, or an error has kept it from running. */
export type Outcome = 'running' | { readonly error: unknown }
  | { readonly result: paths['/api/prompts/{id}/tests/run']['post']['responses']['200']['content']['application/json'] }

/**
 * The query for the test cases of a prompt, with the entity tag that a request to change them has to name. The value is `undefined` for a
 * prompt without tests.
 */
export function useTests (id: string) {
  return useQuery({ queryKey: ['registry', 'tests', id], queryFn: () => readTests(id) })
}

export async function readTests (id: string): Promise<Tagged<readonly Case[] | undefined>> {
  try {
    const { value, tag } = await takeTagged(api.GET('/api/prompts/{id}/tests', { params: { path: { id } } }))
    return { value: value.tests as readonly Case[], tag }
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return { value: undefined, tag: undefined }
    throw error
  }
}

/** Replaces all test cases of a prompt. @param tag of the cases that are replaced; `undefined` for none @returns the tag of the new ones @throws ApiError */
export async function putTests (id: string, cases: unknown, tag: string | undefined): Promise<string | undefined> {
  const header = tag === undefined ? { 'if-none-match': '*' } : { 'if-match': tag }
  const reply = await takeTagged(api.PUT('/api/prompts/{id}/tests', { params: { path: { id }, header }, body: cases as never }))
  void queries.invalidateQueries({ queryKey: ['registry', 'tests', id] })
  return reply.tag
}

/** How many times a case is added again to cases that somebody else has changed meanwhile. */
const ATTEMPTS = 5

/** Adds a test case behind those that are stored. @returns its number @throws ApiError */
export async function addCase (id: string, added: Case): Promise<number> {
  for (let left = ATTEMPTS; ; left--) {
    const { value = [], tag } = await readTests(id)
    try {
      await putTests(id, [...value, added], tag)
      return value.length + 1
    } catch (error) {
      if (left === 1 || !(error instanceof ApiError) || error.status !== 412) throw error
    }
  }
}

/** The name of a test case: its description or, without one, its number. */
export function nameOf (testCase: Case, index: number): string {
  const { description } = testCase
  return typeof description === 'string' && description !== '' ? description : t.caseNumber(index + 1)
}

/** Runs test cases, and returns the results so far. @param version the version to test; without it, the version that callers get is tested */
export function useRuns (id: string, version?: number) {
  const [outcomes, setOutcomes] = useState<ReadonlyMap<number, Outcome>>(new Map())
  // The results of another version say nothing about this one.
  useEffect(() => { setOutcomes(new Map()) }, [id, version])
  const run = async (cases: readonly Case[]) => {
    const waiting = [...cases.entries()]
    const outcomesNow = new Map<number, Outcome>(waiting.map(([index]) => [index, 'running']))
    const tell = (index: number, outcome: Outcome) => {
      outcomesNow.set(index, outcome)
      setOutcomes(new Map(outcomesNow))
    }
    setOutcomes(new Map(outcomesNow))
    await Promise.all(Array.from({ length: AT_A_TIME }, async () => {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
        const [index, testCase] = next
        tell(index, await runOne(id, testCase, version))
      }
    }))
  }
  return { outcomes, run, isRunning: [...outcomes.values()].includes('running') }
}

async function runOne (id: string, testCase: Case, version: number | undefined): Promise<Outcome> {
  try {
    return {
      result: await take(api.POST('/api/prompts/{id}/tests/run', {
        params: { path: { id }, query: version === undefined ? {} : { version } },
        body: { case: testCase }
      }))
    }
  } catch (error) {
    return { error }
  }
}

/** Whether a test case has passed; `undefined` until it has run. */
export function hasPassed (outcome: Outcome | undefined): boolean | undefined {
  if (outcome === undefined || outcome === 'running') return undefined
  return 'result' in outcome && outcome.result.pass
}
