import { ServiceError, targetNotFound, workspaceNotFound } from '../base/errors.ts'
import type { OperatorFile } from '../config/operator.ts'
import { nearMatches } from '../registry/near-matches.ts'
import type { Generation } from '../registry/generation.ts'
import type { KindAccess } from '../registry/kinds/entry-kind.ts'
import { keyToPath, kindPrefix } from '../store/store.ts'
import type { Caller } from './caller.ts'

/** The time between two looks at all that is open, in ms. */
const INTERVAL = 1000

/**
 * Looks once a second at everything that stays open longer than a request (sockets, event streams, terminals, effects of running sessions),
 * whether or not anybody is connected to it, and ends what its owner's token does not allow any more.
 */
export class RightsWatch {
  readonly #open = new Set<() => void>()
  #timer: NodeJS.Timeout | undefined

  /**
   * Watches one open thing until it has lost its rights, or until the returned function is called.
   * @param lost gives the reason because of which it must end; `undefined` while the token still allows it
   * @param end ends it; called once
   * @returns a function that ends the watch, and may be called more than once
   */
  watch<Why> (lost: () => Why | undefined, end: (why: Why) => void): () => void {
    const look = (): void => {
      const why = lost()
      if (why === undefined) return
      leave()
      end(why)
    }
    const leave = (): void => {
      this.#open.delete(look)
      if (this.#open.size > 0) return
      clearInterval(this.#timer)
      this.#timer = undefined
    }
    this.#open.add(look)
    this.#timer ??= setInterval(() => { for (const each of this.#open) each() }, INTERVAL).unref()
    return leave
  }
}

/** The error with which a check of rights fails; `undefined` when it passes. */
export function refusalBy (check: () => unknown): ServiceError | undefined {
  try {
    check()
    return undefined
  } catch (error) {
    return error instanceof ServiceError ? error : new ServiceError('INTERNAL', 500, 'The rights could not be looked up')
  }
}

/** What decides which entries a caller sees: the caller's name patterns, and the extensions that have at least one prompt visible to the caller. */
interface Seen extends Pick<Caller, 'prompts' | 'environs' | 'runs'>, Pick<Generation, 'extensions'> {}

/** The known kinds of entries, and the prefix of the store's keys. */
export interface KnownKeys {
  readonly keyPrefix: string
  readonly kinds: readonly KindAccess[]
}

/**
 * Whether a caller may learn that the store has an entry at a key, valid or not. An entry of an unknown kind is hidden from every caller who has name
 * patterns for prompts or shared variables, because no such pattern can allow it.
 * @param generation the registry's entries as the caller sees them
 */
export function isVisibleKey (
  key: string,
  { keyPrefix, kinds }: KnownKeys,
  { extensions }: Generation,
  { prompts, environs, runs }: Pick<Caller, 'prompts' | 'environs' | 'runs'>
): boolean {
  const kind = kinds.find(each => key.startsWith(kindPrefix(keyPrefix, each.key)))
  if (kind === undefined) return prompts === undefined && environs === undefined
  return isVisibleEntry(kind, keyToPath(key, kindPrefix(keyPrefix, kind.key)), { prompts, environs, runs, extensions })
}

/** Whether a caller may learn that an entry exists, given its kind and its dotted name. */
export function isVisibleEntry (kind: KindAccess, path: string, { prompts, environs, runs, extensions }: Seen): boolean {
  switch (kind.access) {
    case 'open': return true
    case 'prompts': return prompts?.allows(path) ?? true
    case 'environs': return environs?.allows(path) ?? true
    case 'shown': return prompts === undefined || extensions.has(path)
    case 'runs': return mayRun(kind.key, path, { prompts, environs, runs })
  }
}

/**
 * Whether a caller may change an entry, judged by its name patterns. Entries other than prompts and shared variables concern all callers: a caller
 * who is limited to some prompts or shared variables may change no such entry. An agent, a skill or a plan may be changed only by a caller who may run
 * it.
 * @param id the dotted id of the entry
 */
export function mayPublish ({ access, key }: KindAccess, id: string, { prompts, environs, runs }: Pick<Caller, 'prompts' | 'environs' | 'runs'>): boolean {
  if (access === 'prompts') return prompts?.allows(id) ?? true
  if (access === 'environs') return environs?.allows(id) ?? true
  return prompts === undefined && environs === undefined && (access !== 'runs' || mayRun(key, id, { prompts, environs, runs }))
}

/**
 * Whether a caller is allowed to see and run an agent, a skill or a plan. The caller's name patterns for `runs` decide. A caller without such
 * patterns may run all, unless the caller is limited to some prompts or shared variables: such a caller may run none.
 * @param kind the kind as keys of the store write it: `agents`
 * @param id the dotted id of the agent, skill or plan
 */
export function mayRun (kind: string, id: string, { prompts, environs, runs }: Pick<Caller, 'prompts' | 'environs' | 'runs'>): boolean {
  return runs?.allows(`${kind}.${id}`) ?? (prompts === undefined && environs === undefined)
}

/** Whether a caller is allowed to run what a session's log names as its definition. @param definition kind and id: `agents/helper` */
export function mayRunDefinition (caller: Pick<Caller, 'prompts' | 'environs' | 'runs'>, definition: string): boolean {
  const [kind = '', id = ''] = definition.split('/')
  // A session of a terminal belongs to no registered entry: the caller's role and the caller's allowed targets decide about it.
  return kind === 'terminals' || mayRun(kind, id, caller)
}

/**
 * The part of the operator's file (which folders, hosts and commands sessions may reach) that concerns one caller: the targets and workspaces
 * that the caller's name patterns allow, and all of the file's rules for commands.
 */
export function operatorFor ({ workspaces, targets, rules }: OperatorFile, { targets: patterns }: Pick<Caller, 'targets'>): OperatorFile {
  if (patterns === undefined) return { workspaces, targets, rules }
  const allowed = <T>(all: ReadonlyMap<string, T>): ReadonlyMap<string, T> => new Map([...all].filter(([name]) => patterns.allows(name)))
  return { workspaces: allowed(workspaces), targets: allowed(targets), rules }
}

/** The error for a target (a machine) that the operator does not offer. */
export function unknownTarget ({ targets }: Pick<OperatorFile, 'targets'>, name: string): ServiceError {
  return targetNotFound(name, nearMatches(name, targets.keys()), [...targets.keys()])
}

/** The error for a workspace (a folder) that the operator does not offer. */
export function unknownWorkspace ({ workspaces }: Pick<OperatorFile, 'workspaces'>, name: string): ServiceError {
  return workspaceNotFound(name, nearMatches(name, workspaces.keys()), [...workspaces.keys()])
}
