import { modelBusy } from '../../base/errors.ts'
import { type CallerSignal } from '../../runtime/caller-signal.ts'
import { NoSlotError, type Release, Slots, type SlotLimits } from '../../runtime/slots.ts'
import { holdUntilOver, type Layer } from '../model-client.ts'

/** What a caller is asked to wait when everything is taken, in s. */
const RETRY_AFTER = 1

/** How many calls a provider takes at a time, and how many may wait, unless its limits say otherwise. */
export const DEFAULT_LIMITS = { concurrency: 1000, queue: 100 } as const

/**
 * Lets so many calls of a provider through at a time. A call with its retries counts as one, and so does a stream up to its
 * end.
 * @param provider its name, for LLM_BUSY
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
