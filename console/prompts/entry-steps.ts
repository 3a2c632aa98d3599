/*
 * Duplicates, renames and deletes prompts with their tests, by steps of which each stores or removes one entry. The store has no change of
 * several entries at once, so what is copied is stored before what it replaces is removed, and each step can be taken again or taken back.
 */
import { useState } from 'react'
import { ApiError } from '../api/api-error.ts'
import { api, take, takeTagged } from '../api/client.ts'
import { queries } from '../api/queries.ts'
import type { Tagged } from '../api/tagged.ts'
import { isSame } from '../edit/merge.ts'
import { Told } from '../parts/error-note.tsx'
import { t } from '../text/text.ts'
import { readTests } from './tests/use-tests.ts'

export interface Step {
  readonly kind: 'prompt' | 'tests'
  readonly id: string
  /** What is stored by the step, or is there before it removes it. A copy has the tag of what it was copied from. */
  readonly entry: Tagged<unknown>
  readonly makes: 'stored' | 'gone'
}

/** What is stored of a prompt: its text with all settings, and its tests, if it has some. */
export interface Whole {
  readonly prompt: Tagged<unknown>
  readonly tests: Tagged<unknown>
  /** Whether an extension brings it, so that it has no key of its own. */
  readonly isOfExtension: boolean
  readonly labels: readonly string[]
  readonly versions: number
}

/** @throws ApiError also for a prompt with a mistake in its text, which the service does not give */
export async function readWhole (id: string): Promise<Whole> {
  const path = { params: { path: { id } } }
  const [{ value, tag }, tests, releases] = await Promise.all([
    takeTagged(api.GET('/api/prompts/{id}', path)),
    readTests(id),
    take(api.GET('/api/prompts/{id}/versions', path))
  ])
  return {
    prompt: { value: value.prompt, tag },
    tests,
    isOfExtension: value.origin === 'extension',
    labels: Object.keys(releases.labels),
    versions: releases.versions.length
  }
}

export function stepsTo (action: 'duplicate' | 'rename' | 'remove', id: string, { prompt, tests }: Whole, to: string): readonly Step[] {
  const each = (at: string, makes: Step['makes']): readonly Step[] => [
    { kind: 'prompt', id: at, entry: prompt, makes },
    ...tests.value === undefined ? [] : [{ kind: 'tests' as const, id: at, entry: tests, makes }]
  ]
  return [...action === 'remove' ? [] : each(to, 'stored'), ...action === 'duplicate' ? [] : each(id, 'gone')]
}

/** How far the steps are: `done` of them hold. `isBack`: they are being taken back. */
export interface Progress {
  readonly steps: readonly Step[]
  readonly done: number
  readonly isRunning: boolean
  readonly isBack: boolean
  readonly error?: unknown
}

/** Takes steps one after the other, from where they stopped, and takes them back, the last one first. */
export function useSteps () {
  const [progress, setProgress] = useState<Progress>()
  const walk = async (steps: readonly Step[], from: number, isBack: boolean) => {
    let done = from
    const tell = (isRunning: boolean, error?: unknown) => { setProgress({ steps, done, isRunning, isBack, error }) }
    tell(true)
    try {
      while (isBack ? done > 0 : done < steps.length) {
        await takeStep(steps[isBack ? done - 1 : done] as Step, isBack)
        done += isBack ? -1 : 1
        tell(true)
      }
      tell(false)
    } catch (error) {
      tell(false, error)
    } finally {
      await queries.invalidateQueries({ queryKey: ['registry'] })
    }
  }
  return {
    progress,
    begin: (steps: readonly Step[]) => walk(steps, 0, false),
    goOn: async ({ steps, done, isBack }: Progress) => { await walk(steps, done, isBack) },
    // A step that failed without a clear refusal has perhaps been taken, too.
    takeBack: async ({ steps, done, error, isBack }: Progress) => {
      const isRefused = error instanceof NotTaken || (error instanceof ApiError && error.status < 500)
      await walk(steps, isBack || error === undefined || isRefused ? done : done + 1, true)
    }
  }
}

/** A step that has changed nothing, since something else is there than what it is about. */
class NotTaken extends Told {}

async function takeStep ({ makes, ...of }: Step, isBack: boolean): Promise<void> {
  await ((makes === 'stored') === isBack ? ensureGone(of) : ensureStored(of))
}

type Entry = Omit<Step, 'makes'>

/** Stores the entry where nothing is. What is there already is taken for stored if it is the same: a reply may have been lost. */
async function ensureStored ({ kind, id, entry }: Entry): Promise<void> {
  const params = { path: { id }, header: { 'if-none-match': '*' } }
  const body = entry.value as never
  try {
    const put = kind === 'prompt' ? api.PUT('/api/prompts/{id}', { params, body }) : api.PUT('/api/prompts/{id}/tests', { params, body })
    const { tag } = await takeTagged<unknown>(put)
    // The browser has lost digits of a number, for example.
    if (entry.tag !== undefined && tag !== entry.tag) throw new Told(t.copyDiffers(id))
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 412) throw error
    const there = await readOne(kind, id)
    if (there === undefined || !isSame(there.value, entry.value)) throw new NotTaken(kind === 'prompt' ? t.idIsTaken(id) : t.testsAreThere(id))
  }
}

/** Removes the entry if it is still what it was. */
async function ensureGone ({ kind, id, entry }: Entry): Promise<void> {
  const there = await readOne(kind, id)
  if (there === undefined) return
  if (!isSame(there.value, entry.value)) throw new NotTaken(t.changedMeanwhile(id))
  const params = { path: { id }, header: { 'if-match': there.tag ?? '*' } }
  try {
    await take(kind === 'prompt' ? api.DELETE('/api/prompts/{id}', { params }) : api.DELETE('/api/prompts/{id}/tests', { params }))
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    if (error.status === 412) throw new NotTaken(t.changedMeanwhile(id))
    if (error.status !== 404) throw error
  }
}

/** Whether a prompt is served under this id, or is stored with a mistake in it. */
export async function isThere (id: string): Promise<boolean> {
  try {
    await take(api.GET('/api/prompts/{id}', { params: { path: { id } } }))
    return true
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    return error.status !== 404 || error.details['diagnostics'] !== undefined
  }
}

async function readOne (kind: Step['kind'], id: string): Promise<Tagged<unknown> | undefined> {
  if (kind === 'tests') {
    const tests = await readTests(id)
    return tests.value === undefined ? undefined : tests
  }
  try {
    const { value, tag } = await takeTagged(api.GET('/api/prompts/{id}', { params: { path: { id } } }))
    // What an extension brings under this id has no key of its own.
    return value.origin === 'extension' ? undefined : { value: value.prompt, tag }
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return undefined
    throw error
  }
}
