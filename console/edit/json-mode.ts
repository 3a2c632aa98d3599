import { StreamLanguage } from '@codemirror/language'

/** How JSON is coloured. What is wrong in it says whoever parses it. */
export const jsonMode = StreamLanguage.define({
  token: stream => {
    if (stream.eatSpace()) return null
    if (stream.match(/^"(?:[^"\\]|\\.)*"(?=\s*:)/)) return 'propertyName'
    if (stream.match(/^"(?:[^"\\]|\\.)*"?/)) return 'string'
    if (stream.match(/^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/)) return 'number'
    if (stream.match(/^(?:true|false|null)\b/)) return 'keyword'
    stream.next()
    return null
  }
})

/** The reason why a text is no JSON, in the browser's words; empty for JSON. */
export function mistakeInJson (text: string): string {
  try {
    JSON.parse(text)
    return ''
  } catch (error) {
    return String(error instanceof Error ? error.message : error)
  }
}
