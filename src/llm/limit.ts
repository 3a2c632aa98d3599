import { modelBusy } from '../base/errors.ts'
import { type CallerSignal } from '../runtime/deadline.ts'
import { NoSlotError, type ReleaseSlot, Slots, type SlotLimits } from '../runtime/concurrency.ts'
import { holdUntilOver, type Layer } from './model-client.ts'

/** In s. */
const RETRY_AFTER = 1

export const DEFAULT_LIMITS = { concurrency: 1000, queue: 100 } as const

/** Bounds concurrent calls of an API. A call counts once with its retries; a stream counts until its end. */
export function limit (provider: string, limits: SlotLimits): Layer {
  const slots = new Slots(limits)
  return ask => async operation => {
    const release = await acquire(slots, operation.call.signal, provider)
    return await holdUntilOver(() => ask(operation), release)
  }
}

async function acquire (slots: Slots, signal: CallerSignal, provider: string): Promise<ReleaseSlot> {
  try {
    return await slots.acquire(signal)
  } catch (error) {
    throw error instanceof NoSlotError ? modelBusy(provider, RETRY_AFTER) : error
  }
}
