import { createRedactor, isSensitive, type Redact } from '../../base/redact.ts'

/** From this length on the value of a header is taken for a secret, in characters. The header's name may say nothing about that. */
const LENGTH_OF_SECRETS = 8

/**
 * Takes the values of the operator's request headers out of replies. Callers read replies, and some gateways print a
 * request's headers into their errors.
 */
export function redactHeaders (headers: ReadonlyArray<readonly [name: string, value: string]>): Redact {
  return createRedactor(headers
    .filter(([name, value]) => isSensitive(name) || value.length >= LENGTH_OF_SECRETS)
    .map(([, value]) => withoutScheme(value)))
}

/** The credential alone: the word `Bearer` before it is no secret. https://www.rfc-editor.org/rfc/rfc9110#section-11.4 */
function withoutScheme (value: string): string {
  return value.replace(/^[\w-]+ +(?=\S+$)/, '')
}
