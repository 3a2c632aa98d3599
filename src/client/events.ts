/** An event beyond this is given up, in UTF-16 units. */
const MAX_EVENT = 16 * 1024 * 1024

/** The data of the server-sent events of a body, each as soon as it is there; comments are none. Leaving it cancels the body. */
export async function * readEvents (body: ReadableStream<Uint8Array>): AsyncGenerator<string, void> {
  const reader = body.getReader()
  const decoder = new TextDecoder()
  let held = ''
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      held += decoder.decode(value, { stream: true })
      // A CR at the end may be half of a line end.
      const events = held.split(/\r\n\r\n|\n\n|\r\r(?!$)/)
      held = events.pop() ?? ''
      if (held.length > MAX_EVENT) throw new RangeError(`an event is larger than ${MAX_EVENT} characters`)
      yield * events.map(dataOf).filter(data => data !== undefined)
    }
  } finally {
    await reader.cancel().catch(() => {})
  }
}

/** The `data` lines of an event; `undefined` for one without. */
function dataOf (event: string): string | undefined {
  const lines = event.split(/\r\n|\r|\n/).filter(line => line.startsWith('data:'))
  return lines.length === 0 ? undefined : lines.map(line => line.slice(5).replace(/^ /, '')).join('\n')
}
