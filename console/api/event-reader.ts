export interface StreamEvent { readonly id?: string, readonly event?: string, readonly data: string }

/**
 * Reads server-sent events out of the pieces of a stream, wherever these are cut. Lines end in LF or CRLF, as the service writes them;
 * https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation
 */
export function eventReader (onEvent: (event: StreamEvent) => void, onComment: (comment: string) => void): (piece: string) => void {
  let rest = ''
  let data: string[] = []
  let named: { id?: string, event?: string } = {}
  const take = (line: string) => {
    if (line === '') {
      if (data.length > 0) onEvent({ ...named, data: data.join('\n') })
      data = []
      named = {}
      return
    }
    const [, name = '', value = ''] = /^([^:]*)(?:: ?([^]*))?$/.exec(line) ?? []
    if (line.startsWith(':')) onComment(value)
    else if (name === 'data') data.push(value)
    else if (name === 'id' || name === 'event') named[name] = value
  }
  return piece => {
    const lines = (rest + piece).split(/\r?\n/)
    rest = lines.pop() ?? ''
    lines.forEach(take)
  }
}
