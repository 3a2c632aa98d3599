import { Readable } from 'node:stream'
import { ServiceError } from '../../base/errors.ts'
import { type CallerSignal } from '../../runtime/caller-signal.ts'
import { type FrameStream } from '../../llm/model-client.ts'
import { errorEvent } from '../../llm/stream/error-event.ts'
import { type Frame } from '../../llm/stream/frame.ts'
import { UpstreamError, UpstreamRefusal } from '../../llm/upstream-error.ts'

/** The answer of a model as a stream of events, while it is being written. */
export interface ChatStream {
  /** Server-sent events, up to `[DONE]` or one error event; destroy it when the client leaves. */
  readonly events: Readable
}

/**
 * Makes a stream of server-sent events. An expected failure (of the service or of the model's API) becomes an error event at the end, since the
 * client has seen a part of the answer by then. When the caller has left, the stream just ends.
 */
export function chatStream (events: AsyncIterable<Buffer>, signal: CallerSignal): ChatStream {
  return { events: Readable.from(withErrorEvent(events, signal), { objectMode: false }) }
}

/** The frames (events) of a model's stream, one by one. They end without an error when the caller has left. */
export async function * readFrames ({ frames }: FrameStream, signal: CallerSignal): AsyncGenerator<Frame, void> {
  try {
    for await (const list of frames) yield * list
  } catch (error) {
    if (!signal.aborted) throw error
  }
}

async function * withErrorEvent (events: AsyncIterable<Buffer>, signal: CallerSignal): AsyncGenerator<Buffer, void> {
  try {
    yield * events
  } catch (error) {
    if (signal.aborted) return
    if (error instanceof UpstreamRefusal) yield errorEvent({ message: error.inWords, code: error.code })
    else if (error instanceof ServiceError || error instanceof UpstreamError) yield errorEvent(error)
    else throw error
  }
}
