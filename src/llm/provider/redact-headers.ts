import { createRedactor, isSensitive, type Redact } from '../../base/redact.ts'

/** The least number of characters with which a header's value counts as a secret, whatever the header's name is. */
const LENGTH_OF_SECRETS = 8

/**
 * Makes the function that replaces the values of the operator's request headers in replies. Callers get replies, and some gateways print a request's
 * headers into their errors.
 */
export function redactHeaders (headers: ReadonlyArray<readonly [name: string, value: string]>): Redact {
  return createRedactor(headers
    .filter(([name, value]) => isSensitive(name) || value.length >= LENGTH_OF_SECRETS)
    .map(([, value]) => withoutScheme(value)))
}

/** The credential in a header's value, without the word `Bearer` before it, which is no secret. https://www.rfc-editor.org/rfc/rfc9110#section-11.4 */
function withoutScheme (value: string): string {
  return value.replace(/^[\w-]+ +(?=\S+$)/, '')
}
