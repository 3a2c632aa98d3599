import { type Caller } from '../access/caller.ts'
import { visibleEnvirons, type VisibleEnvirons } from '../access/views.ts'
import { type Generation } from '../registry/generation.ts'
import { DEFAULT_LIMITS, renderToFixpoint, RenderRun } from '../template/run.ts'
import { readEnviron } from '../template/scope.ts'
import { type Json } from '../base/json.ts'
import { PENDING } from '../template/value.ts'
import { Deadline } from '../runtime/deadline.ts'
import { missingEnviron } from './choose-prompt.ts'
import { toPath } from '../store/store.ts'

/** Parts hidden from the caller are left out. @throws ENVIRON_NOT_FOUND, ENVIRON_INVALID, STORE_UNAVAILABLE, RENDER_BUDGET */
export type ReadEnviron = (request: { readonly generation: Generation, readonly caller: Caller, readonly id: string }) => Promise<Json>

export function createEnvironReader (all: VisibleEnvirons, timeout: number): ReadEnviron {
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
    const run = new RenderRun(options)
    try {
      const value = await renderToFixpoint(run, id, () => readEnviron(run, name), options)
      if (value === undefined || value === PENDING) throw notFound()
      return value as Json
    } finally {
      deadline.abandon()
    }
  }
}
