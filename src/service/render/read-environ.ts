import { type Caller } from '../../access/caller.ts'
import { visibleEnvirons, type VisibleEnvirons } from '../../access/environ-view.ts'
import { type Generation } from '../../registry/generation/generation.ts'
import { renderToFixpoint } from '../../template/run/fixpoint.ts'
import { DEFAULT_LIMITS } from '../../template/limits.ts'
import { Run } from '../../template/run/run.ts'
import { readEnviron } from '../../template/run/scope.ts'
import { type Json } from '../../base/json.ts'
import { PENDING } from '../../template/value.ts'
import { Deadline } from '../../runtime/deadline.ts'
import { missingEnviron } from '../missing-entries.ts'
import { toPath } from '../../store/keys.ts'

/** The shared variables and the time limit of a reader. */
export interface EnvironReaderOptions {
  readonly environs: VisibleEnvirons
  /** How long a read may take, in ms. */
  readonly timeout: number
}

/** A caller's request to read a shared variable. */
export interface EnvironRequest {
  readonly generation: Generation
  readonly caller: Caller
  readonly id: string
}

/** Reads the part of a shared variable that the caller may see. @throws ENVIRON_NOT_FOUND, ENVIRON_INVALID, STORE_UNAVAILABLE, RENDER_BUDGET */
export type ReadEnviron = (request: EnvironRequest) => Promise<Json>

/** Makes the reader. It gives one shared variable, or all variables below a path as one object, merged as templates see them. */
export function createEnvironReader ({ environs: all, timeout }: EnvironReaderOptions): ReadEnviron {
  return async function read ({ generation, caller, id }) {
    const environs = visibleEnvirons(all, caller)
    const name = toPath(id)
    const notFound = () => missingEnviron(generation, id, environs.index)
    if (!environs.has(name) && !environs.hasBelow(name)) throw notFound()
    const deadline = new Deadline(timeout)
    const options = {
      environs,
      callTool: () => Promise.reject(new Error('no tools here')),
      deadline: deadline.at,
      timeout,
      signal: deadline.toAbortSignal(),
      limits: DEFAULT_LIMITS
    }
    const run = new Run(options)
    try {
      const value = await renderToFixpoint(run, id, () => readEnviron(run, name), options)
      if (value === undefined || value === PENDING) throw notFound()
      return value as Json
    } finally {
      deadline.abandon()
    }
  }
}
