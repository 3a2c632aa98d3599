import pLimit from 'p-limit'
import { type JsonObject } from '../../base/json.ts'
import { keyToFunction, toPath } from '../../store/keys.ts'
import { ApiError } from '../api-error.ts'
import { type ApiClient } from '../api-client.ts'
import { ENTRY_KINDS } from '../entries/entry-kinds.ts'
import { pathOf, publish } from '../entries/publish.ts'
import { type CliError, EXIT } from '../exit-codes.ts'
import { listOf, objectOf, textOf } from '../json-members.ts'
import { type Output } from '../output.ts'
import { type Difference } from './compare.ts'

/** The most writing requests that are sent at the same time. */
const AT_A_TIME = 8

/** The kinds whose entries refer to no other entries. They are written first, before the entries that refer to them. */
const FIRST: ReadonlySet<string> = new Set(['tools', 'environs'])

/** The planned change of one entry. */
export interface Step {
  readonly what: 'create' | 'change' | 'remove'
  readonly difference: Difference
  /** The reason why the change would undo a change of somebody else. */
  readonly conflict?: string
}

/** The result of a push. */
export interface Pushed {
  readonly made: readonly Step[]
  readonly refused: ReadonlyMap<Step, CliError>
  /** The number of each prompt's new version, by the prompt's name, such as `prompts/greet`; empty if the service records no versions. */
  readonly versions: ReadonlyMap<string, number>
}

/**
 * Plans a push: which entries of the service are written and removed. @param prune whether an entry that only the service has is removed
 */
export function planPush (differences: readonly Difference[], prune: boolean): readonly Step[] {
  return differences.flatMap((difference): Step[] => {
    const { local, remote, known, isHeld } = difference
    if (local === undefined) return prune ? [{ what: 'remove', difference, ...conflictUnless(remote?.tag === known, known) }] : []
    // If the entry was pushed before, and has not changed in the folder since, somebody has removed it from the service on purpose.
    if (remote === undefined) return [{ what: 'create', difference, ...(known === local.tag && !isHeld ? { conflict: 'it was removed there' } : {}) }]
    return [{ what: 'change', difference, ...conflictUnless(remote.tag === known, known) }]
  })
}

function conflictUnless (isOurs: boolean, known: string | undefined): { readonly conflict?: string } {
  if (isOurs) return {}
  return { conflict: known === undefined ? 'it differs there, and was not pushed or pulled from here' : 'somebody has edited it there' }
}

/**
 * Lets the service check each entry that a push would write, before any is written. A name that is not registered there is no error where the push
 * writes what may have it.
 * @returns the steps that the service would refuse, each with the reason
 * @throws CliError for an error that concerns all entries
 */
export async function checkPush (steps: readonly Step[], api: ApiClient): Promise<ReadonlyMap<Step, CliError>> {
  const writes = steps.filter(({ what }) => what !== 'remove')
  const offers = writes.map(({ difference }) => difference)
  const refused = await carryOut(writes, step => make(step, {}, api, true), error => error.code === 'LINT_BUSY')
  return new Map([...refused].filter(([, error]) => !errorsOf(error).every(diagnostic => isMended(diagnostic, offers))))
}

/** The codes of errors that end when something else is registered. */
const UNREGISTERED: ReadonlySet<string> = new Set([
  'FUNCTION_UNKNOWN', 'PARTIAL_UNKNOWN', 'TOOL_UNKNOWN', 'DEFINITION_UNKNOWN', 'PARAMETER_UNKNOWN', 'PARTIAL_CYCLE'
])

function errorsOf ({ code, details }: ApiError): readonly JsonObject[] {
  const errors = listOf(objectOf(details)['diagnostics']).map(objectOf).filter(({ severity }) => severity === 'error')
  return code === 'ENTRY_INVALID' && errors.length > 0 ? errors : [{}]
}

/** Whether an error may end with the entries of a push: one of them may have the name that the error's message quotes. */
function isMended ({ code, message }: JsonObject, offers: readonly Difference[]): boolean {
  if (!UNREGISTERED.has(textOf(code))) return false
  const names = Array.from(textOf(message).matchAll(/"([^"]+)"/g), ([, name]) => toPath(name as string))
  return code === 'PARTIAL_CYCLE' || names.some(name => offers.some(({ kind, id }) => {
    if (kind.key === 'tools') return keyToFunction(name, '').startsWith(keyToFunction(id, ''))
    return kind.key === 'extensions' || id === name.split('@')[0] || id.endsWith(`.${name.split('@')[0] as string}`)
  }))
}

/**
 * Carries out the steps of a push, and prints each. Tools and shared variables go first. An entry that the service refuses as
 * invalid, for example because it refers to a missing entry, is tried again after the others.
 * @param about the note and the source that the service keeps with each new version, if it records versions
 * @throws CliError for an error that concerns all entries
 */
export async function push (
  steps: readonly Step[],
  about: Readonly<Record<string, string>>,
  { api, output }: { readonly api: ApiClient, readonly output: Output }
): Promise<Pushed> {
  const made: Step[] = []
  const versions = new Map<string, number>()
  const refused = new Map<Step, CliError>()
  const writes = steps.filter(({ what }) => what !== 'remove')
  const removals = steps.filter(({ what }) => what === 'remove').toSorted((one, other) => rank(other) - rank(one))
  const isFirst = ({ difference }: Step) => FIRST.has(difference.kind.key)
  for (const group of [writes.filter(isFirst), writes.filter(step => !isFirst(step)), removals]) {
    const left = await carryOut(group, async step => {
      const version = await make(step, about, api)
      if (version !== undefined) versions.set(step.difference.name, version)
      made.push(step)
      await output.words(`${PAST[step.what]} ${step.difference.name}`)
    }, ({ code }) => code === 'ENTRY_INVALID' || code === 'LINT_BUSY')
    for (const [step, error] of left) refused.set(step, error)
  }
  return { made, refused, versions }
}

/**
 * Does something with each step, several at a time. What was refused and may be taken later is tried again, as long as that takes any.
 * @returns the steps that were refused in the end
 * @throws CliError for an error that concerns all entries
 */
async function carryOut (
  steps: readonly Step[],
  act: (step: Step) => Promise<unknown>,
  mayBeLater: (error: ApiError) => boolean
): Promise<ReadonlyMap<Step, ApiError>> {
  const limit = pLimit(AT_A_TIME)
  const refused = new Map<Step, ApiError>()
  for (let waiting = steps, before = Infinity; waiting.length > 0 && waiting.length < before;) {
    before = waiting.length
    await Promise.all(waiting.map(step => limit(async () => {
      refused.delete(step)
      try {
        await act(step)
      } catch (error) {
        if (!(error instanceof ApiError) || !isOfThis(error)) throw error
        refused.set(step, error)
      }
    })))
    waiting = [...refused].filter(([, error]) => mayBeLater(error)).map(([step]) => step)
  }
  return refused
}

/** Whether an error concerns only one entry. A missing right, and a service that does not answer, would make every entry fail. */
function isOfThis ({ exitCode, code }: ApiError): boolean {
  return exitCode === EXIT.NO || exitCode === EXIT.USAGE || code === 'LINT_BUSY'
}

const PAST = { create: 'created', change: 'changed', remove: 'removed' } as const

function rank ({ difference }: Step): number {
  return ENTRY_KINDS.indexOf(difference.kind)
}

/** The conditional headers of a write: the service refuses the write if the entry has changed since the push was planned. */
function conditionsFor (remote: Difference['remote']): Readonly<Record<string, string>> {
  if (remote === undefined) return { 'if-none-match': '*' }
  return { 'if-match': remote.tag === '' ? '*' : `"${remote.tag}"` }
}

/**
 * Writes or removes one entry, unless it has changed since the push was planned. A dry run of a write lets the service check it.
 * @returns the number of the prompt version that the write made; `undefined` if the service has recorded no version
 */
async function make (
  { what, difference: { kind, id, local, remote } }: Step,
  about: Readonly<Record<string, string>>,
  api: ApiClient,
  isDryRun = false
): Promise<number | undefined> {
  const conditions = conditionsFor(remote)
  if (what === 'remove' || local === undefined) {
    await api.delete(pathOf(kind, id), conditions)
    return undefined
  }
  const { json } = await publish(api, kind, id, local.entry, { conditions, about, isDryRun })
  const { version } = objectOf(json)
  return version === undefined ? undefined : Number(version)
}
