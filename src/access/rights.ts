import { ServiceError, targetNotFound, workspaceNotFound } from '../base/errors.ts'
import type { OperatorFile } from '../config/operator.ts'
import { nearMatches } from '../base/near-matches.ts'
import type { Generation } from '../registry/generation.ts'
import type { KindAccess } from '../registry/kinds/entry-kind.ts'
import { keyToPath, kindPrefix } from '../store/store.ts'
import type { Caller } from './caller.ts'

/** In ms. */
const INTERVAL = 1000

/** Once a second ends whatever outlasts a request and lost its owner's rights, whether or not anybody is connected. */
export class RightsWatch {
  readonly #open = new Set<() => void>()
  #timer: NodeJS.Timeout | undefined

  /** `end` is called once; the returned function ends the watch, and may be called more than once. */
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

export function refusalBy (check: () => unknown): ServiceError | undefined {
  try {
    check()
    return undefined
  } catch (error) {
    return error instanceof ServiceError ? error : new ServiceError('INTERNAL', 500, 'The rights could not be looked up')
  }
}

/** An entry of an unknown kind is hidden from callers with patterns for prompts or variables: none can allow it. */
export function isVisibleKey (
  key: string,
  { keyPrefix, kinds }: { readonly keyPrefix: string, readonly kinds: readonly KindAccess[] },
  { extensions }: Generation,
  { prompts, environs, runs }: Pick<Caller, 'prompts' | 'environs' | 'runs'>
): boolean {
  const kind = kinds.find(each => key.startsWith(kindPrefix(keyPrefix, each.key)))
  if (kind === undefined) return prompts === undefined && environs === undefined
  return isVisibleEntry(kind, keyToPath(key, kindPrefix(keyPrefix, kind.key)), { prompts, environs, runs, extensions })
}

export function isVisibleEntry (
  kind: KindAccess, path: string, { prompts, environs, runs, extensions }: Pick<Caller, 'prompts' | 'environs' | 'runs'> & Pick<Generation, 'extensions'>
): boolean {
  switch (kind.access) {
    case 'open': return true
    case 'prompts': return prompts?.allows(path) ?? true
    case 'environs': return environs?.allows(path) ?? true
    case 'shown': return prompts === undefined || extensions.has(path)
    case 'runs': return mayRun(kind.key, path, { prompts, environs, runs })
  }
}

/** Entries beside prompts and variables concern all callers, so limited callers may not change them; a definition's need `runs`. */
export function mayPublish ({ access, key }: KindAccess, id: string, { prompts, environs, runs }: Pick<Caller, 'prompts' | 'environs' | 'runs'>): boolean {
  if (access === 'prompts') return prompts?.allows(id) ?? true
  if (access === 'environs') return environs?.allows(id) ?? true
  return prompts === undefined && environs === undefined && (access !== 'runs' || mayRun(key, id, { prompts, environs, runs }))
}

/** Without `runs`, a caller limited to some prompts or shared variables may run none. `kind` is as in keys: `agents`. */
export function mayRun (kind: string, id: string, { prompts, environs, runs }: Pick<Caller, 'prompts' | 'environs' | 'runs'>): boolean {
  return runs?.allows(`${kind}.${id}`) ?? (prompts === undefined && environs === undefined)
}

/** What the definitions of change requests begin with, before the id of their prompt. */
export const RELEASES = 'releases'

export function mayRunDefinition (caller: Pick<Caller, 'prompts' | 'environs' | 'runs'>, definition: string): boolean {
  const [kind = '', id = ''] = definition.split('/')
  if (kind === RELEASES) return caller.prompts?.allows(id) ?? true
  // A terminal belongs to no registered entry: the caller's role and allowed targets decide about it.
  return kind === 'terminals' || mayRun(kind, id, caller)
}

/** All of the file's rules for commands stay. */
export function operatorFor ({ workspaces, targets, ...others }: OperatorFile, { targets: patterns }: Pick<Caller, 'targets'>): OperatorFile {
  if (patterns === undefined) return { workspaces, targets, ...others }
  const allowed = <T>(all: ReadonlyMap<string, T>): ReadonlyMap<string, T> => new Map([...all].filter(([name]) => patterns.allows(name)))
  return { workspaces: allowed(workspaces), targets: allowed(targets), ...others }
}

export function unknownTarget ({ targets }: Pick<OperatorFile, 'targets'>, name: string): ServiceError {
  return targetNotFound(name, nearMatches(name, targets.keys()), [...targets.keys()])
}

export function unknownWorkspace ({ workspaces }: Pick<OperatorFile, 'workspaces'>, name: string): ServiceError {
  return workspaceNotFound(name, nearMatches(name, workspaces.keys()), [...workspaces.keys()])
}
