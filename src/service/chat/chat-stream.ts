import { type Readable } from 'node:stream'
import { type CallerSignal } from '../../runtime/caller-signal.ts'
import { MAX_EVENT_BYTES } from '../../llm/model-client.ts'
import { EventScanner, type ServerSentEvent } from '../../llm/stream/server-sent-events.ts'

/** An answer as it is being written. */
export interface ChatStream {
  /** Server-sent events, up to `[DONE]` or one error event; destroy it when the client leaves. */
  readonly events: Readable
}

/** The events of a model's stream, one by one; ends without an error when the caller has left. */
export async function * readEvents ({ events }: ChatStream, signal: CallerSignal): AsyncGenerator<ServerSentEvent, void> {
  const scanner = new EventScanner(MAX_EVENT_BYTES)
  try {
    for await (const bytes of events) yield * scanner.feed(bytes as Buffer)
  } catch (error) {
    if (!signal.aborted) throw error
  }
}

/** Whether an event is the end of OpenAI's streams. */
export function isDone ({ data }: ServerSentEvent): boolean {
  return data?.trim() === '[DONE]'
}
