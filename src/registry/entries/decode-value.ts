import { type Json, JsonError, parseJson } from '../../base/json.ts'
import { type Kind } from '../../store/keys.ts'
import { type Diagnostic, reject } from '../diagnose/diagnostic.ts'

/** What a stored text means, and what is odd about it. */
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

/**
 * Reads what a publisher wrote: JSON, and beyond it plain text where that cannot be mistaken for broken JSON: a template
 * that does not begin with `{`, `[` or `"` or begins with `{{`, an environ that does not begin with `{`, `[` or `"`.
 * @throws RejectedEntry when it is broken JSON
 */
export function decodeValue (kind: Kind, text: string): DecodedValue {
  if (text.startsWith('\uFEFF')) throw reject('VALUE_INVALID', 'the value begins with a byte order mark', 'store it as UTF-8 without one')
  if (kind === 'templates' && (/^\s*\{\{/.test(text) || !/^\s*[{["]/.test(text))) return { value: text, diagnostics: [] }
  try {
    return { value: parseJson(text), diagnostics: [] }
  } catch (error) {
    if (!(error instanceof JsonError)) throw error
    if (kind === 'environs' && !/^\s*[{["]/.test(text)) return { value: text, diagnostics: [NOT_JSON] }
    throw reject('VALUE_INVALID', `the value is not valid JSON: ${error.reason}`, undefined, error.place)
  }
}
