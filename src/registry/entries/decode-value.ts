import { type Json, JsonError, parseJson } from '../../base/json.ts'
import { type Diagnostic, reject } from '../diagnostic/diagnostic.ts'

/** The value that was read from a stored text, with warnings about the text. */
export interface DecodedValue {
  readonly value: Json
  readonly diagnostics: readonly Diagnostic[]
}

const NOT_JSON: Diagnostic = {
  severity: 'warning',
  code: 'VALUE_NOT_JSON',
  message: 'the value is not JSON and is taken as text',
  hint: 'write a JSON string, with quotes'
}

/** Reads a stored text as JSON. @throws RejectedEntry */
export function decodeJson (text: string): DecodedValue {
  refuseByteOrderMark(text)
  try {
    return { value: parseJson(text), diagnostics: [] }
  } catch (error) {
    if (!(error instanceof JsonError)) throw error
    throw reject('VALUE_INVALID', `the value is not valid JSON: ${error.reason}`, undefined, error.place)
  }
}

/**
 * Reads the stored text of a prompt: as JSON when it begins with `{`, `[` or `"`, but not with `{{`; otherwise as plain text. So broken JSON is never
 * taken for a plain text.
 * @throws RejectedEntry
 */
export function decodeTemplate (text: string): DecodedValue {
  refuseByteOrderMark(text)
  return /^\s*\{\{/.test(text) || !beginsAsJson(text) ? { value: text, diagnostics: [] } : decodeJson(text)
}

/** Reads the stored text of a shared variable: as JSON, or as plain text when it is no JSON and does not begin with `{`, `[` or `"`. @throws RejectedEntry */
export function decodeEnviron (text: string): DecodedValue {
  refuseByteOrderMark(text)
  if (beginsAsJson(text)) return decodeJson(text)
  try {
    return { value: parseJson(text), diagnostics: [] }
  } catch (error) {
    if (!(error instanceof JsonError)) throw error
    return { value: text, diagnostics: [NOT_JSON] }
  }
}

function beginsAsJson (text: string): boolean {
  return /^\s*[{["]/.test(text)
}

function refuseByteOrderMark (text: string): void {
  if (text.startsWith('\uFEFF')) throw reject('VALUE_INVALID', 'the value begins with a byte order mark', 'store it as UTF-8 without one')
}
