import { modelBusy } from '../base/errors.ts'
import { type CallerSignal } from '../runtime/deadline.ts'
import { NoSlotError, type Release, Slots, type SlotLimits } from '../runtime/concurrency.ts'
import { holdUntilOver, type Layer } from './model-client.ts'

/** How long a client is asked to wait, in s, when too many calls of a model API run and wait already. */
const RETRY_AFTER = 1

/** The most calls of a model API that run at the same time, and the most that wait, unless the API's own limits say otherwise. */
export const DEFAULT_LIMITS = { concurrency: 1000, queue: 100 } as const

/**
 * Makes the `Layer` that limits how many calls of a model API run at a time. A call counts once with all its retries; a streamed answer counts until
 * its end.
 * @param provider the name of the API, for the error LLM_BUSY
 */
export function limit (provider: string, limits: SlotLimits): Layer {
  const slots = new Slots(limits)
  return ask => async operation => {
    const release = await acquire(slots, operation.call.signal, provider)
    return await holdUntilOver(() => ask(operation), release)
  }
}

async function acquire (slots: Slots, signal: CallerSignal, provider: string): Promise<Release> {
  try {
    return await slots.acquire(signal)
  } catch (error) {
    throw error instanceof NoSlotError ? modelBusy(provider, RETRY_AFTER) : error
  }
}
