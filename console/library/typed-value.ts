import type { Tagged } from '../api/tagged.ts'
import { mistakeInJson } from '../edit/json-mode.ts'
import { t } from '../text/text.ts'

export const KINDS = ['text', 'number', 'boolean', 'json'] as const

/** A JSON value as somebody types it: a text without quotes, a number, `true` or `false`, and all else as JSON. */
export interface TypedValue { readonly kind: typeof KINDS[number], readonly text: string }

/** @param stored as JSON; `undefined` for what is not stored yet, which begins as an empty text */
export function typedFrom ({ value: json, tag }: Tagged<string | undefined>): Tagged<TypedValue> {
  return { value: json === undefined ? { kind: 'text', text: '' } : typed(json), tag }
}

function typed (json: string): TypedValue {
  const value: unknown = JSON.parse(json)
  if (typeof value === 'string') return { kind: 'text', text: value }
  if (typeof value === 'number') return { kind: 'number', text: json }
  if (typeof value === 'boolean') return { kind: 'boolean', text: json }
  // Numbers may have more digits than the browser keeps, and then the text stays as it came.
  return { kind: 'json', text: JSON.stringify(value) === json ? JSON.stringify(value, null, 2) : json }
}

/** The JSON that is stored, every digit as it was typed. */
export function jsonOf ({ kind, text }: TypedValue): string {
  return kind === 'text' ? JSON.stringify(text) : text
}

/** Why this is no value of its kind; `''` if it is one. */
export function mistakeIn ({ kind, text }: TypedValue): string {
  if (kind === 'text') return ''
  if (kind === 'boolean') return text === 'true' || text === 'false' ? '' : t.chooseYesOrNo
  const problem = mistakeInJson(text)
  return kind === 'json' ? problem : problem === '' && typeof JSON.parse(text) === 'number' ? '' : t.noNumber
}

/** The same, to be typed as another kind. No character is lost: what is no number stays to be mended, and a text becomes JSON in quotes. */
export function asKind (value: TypedValue, kind: TypedValue['kind']): TypedValue {
  if (kind === value.kind) return value
  if (kind === 'json') return { kind, text: value.kind === 'text' && value.text !== '' ? JSON.stringify(value.text) : value.text }
  const isQuoted = value.kind === 'json' && mistakeInJson(value.text) === '' && typeof JSON.parse(value.text) === 'string'
  return { kind, text: isQuoted ? JSON.parse(value.text) as string : value.text }
}
