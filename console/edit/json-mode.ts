import { StreamLanguage } from '@codemirror/language'

/** The colours of JSON in an editor. This code does not look for mistakes in the JSON. */
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

/** The reason why a text is not valid JSON, in the browser's words; `''` for valid JSON. */
export function mistakeInJson (text: string): string {
  try {
    JSON.parse(text)
    return ''
  } catch (error) {
    return String(error instanceof Error ? error.message : error)
  }
}
