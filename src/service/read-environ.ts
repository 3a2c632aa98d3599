import { type Caller } from '../access/caller.ts'
import { visibleEnvirons, type VisibleEnvirons } from '../access/environ-view.ts'
import { type Generation } from '../registry/generation.ts'
import { DEFAULT_LIMITS, renderToFixpoint, Run } from '../template/run.ts'
import { readEnviron } from '../template/scope.ts'
import { type Json } from '../base/json.ts'
import { PENDING } from '../template/value.ts'
import { Deadline } from '../runtime/deadline.ts'
import { missingEnviron } from './find-entries.ts'
import { toPath } from '../store/store.ts'

/** The shared variables to read from, and the time that a read may take. */
export interface EnvironReaderOptions {
  readonly environs: VisibleEnvirons
  /** The longest time that reading a variable takes, in ms. */
  readonly timeout: number
}

/** A caller's request to read a shared variable. */
export interface EnvironRequest {
  readonly generation: Generation
  readonly caller: Caller
  readonly id: string
}

/**
 * Reads a shared variable for a caller, without the parts that are hidden from that caller. @throws ENVIRON_NOT_FOUND, ENVIRON_INVALID,
 * STORE_UNAVAILABLE, RENDER_BUDGET
 */
export type ReadEnviron = (request: EnvironRequest) => Promise<Json>

/** Makes the reader of shared variables. It gives one variable, or all variables below a path merged into one object, as templates see them. */
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
