import { createParser } from 'eventsource-parser'
import { ApiError } from './api-error.ts'
import { send } from './client.ts'

export interface StreamEvent { readonly id?: string | undefined, readonly event?: string | undefined, readonly data: string }

/**
 * Reads server-sent events as they arrive. It does not use `EventSource`, which cannot send a token.
 * @throws ApiError when the service refuses the request
 */
export async function readStream (
  request: Request,
  onEvent: (event: StreamEvent) => void,
  onComment: (comment: string) => void = () => {},
  onReply: (headers: Headers) => void = () => {}
): Promise<void> {
  const response = await send(request)
  if (!response.ok || response.body === null) throw new ApiError(response.status, await response.json().catch(() => ({})))
  onReply(response.headers)
  const parser = createParser({ onEvent, onComment })
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
  try {
    for (let chunk = await reader.read(); !chunk.done; chunk = await reader.read()) parser.feed(chunk.value)
  } finally {
    // Where `onEvent` has thrown, nobody reads on.
    void reader.cancel().catch(() => {})
  }
}
