/** The largest server-sent event that is read, in UTF-16 units. */
const MAX_EVENT = 16 * 1024 * 1024

/** Yields the data of each server-sent event in a body as soon as it arrives; comments are skipped. When the reader stops early, the body is cancelled. */
export async function * readEvents (body: ReadableStream<Uint8Array>): AsyncGenerator<string, void> {
  const reader = body.getReader()
  const decoder = new TextDecoder()
  let held = ''
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      held += decoder.decode(value, { stream: true })
      // If the text ends in CR, the LF of a CR LF is perhaps still on its way, so that CR does not end an event yet.
      const events = held.split(/\r\n\r\n|\n\n|\r\r(?!$)/)
      held = events.pop() ?? ''
      if (held.length > MAX_EVENT) throw new RangeError(`an event is larger than ${MAX_EVENT} characters`)
      yield * events.map(dataOf).filter(data => data !== undefined)
    }
  } finally {
    await reader.cancel().catch(() => {})
  }
}

/** The data of one server-sent event, its `data` lines joined; `undefined` for an event without any. */
function dataOf (event: string): string | undefined {
  const lines = event.split(/\r\n|\r|\n/).filter(line => line.startsWith('data:'))
  return lines.length === 0 ? undefined : lines.map(line => line.slice(5).replace(/^ /, '')).join('\n')
}
