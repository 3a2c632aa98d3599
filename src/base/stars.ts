/**
 * Makes the test of a text against a pattern in which `*` stands for any characters. A test takes linear time, whoever has written the pattern: the
 * parts between the stars are searched for one after the other, never backwards.
 */
export function starPattern (pattern: string): (text: string) => boolean {
  const [first = '', ...parts] = pattern.split('*')
  const last = parts.pop()
  if (last === undefined) return text => text === pattern
  return text => {
    if (text.length < first.length + last.length || !text.startsWith(first) || !text.endsWith(last)) return false
    let from = first.length
    for (const part of parts) {
      const at = text.indexOf(part, from)
      if (at < 0 || at + part.length > text.length - last.length) return false
      from = at + part.length
    }
    return true
  }
}
