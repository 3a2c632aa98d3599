import { createRedactor, isSensitive, type Redact } from '../../base/redact.ts'

/** A header's name may say nothing of what is in it, so from this length on its value is a secret, in characters. */
const LENGTH_OF_SECRETS = 8

/**
 * Takes what an operator has put into the headers of requests out of what comes back, since callers read that and some
 * gateways print a request's headers into their errors.
 */
export function redactHeaders (headers: ReadonlyArray<readonly [name: string, value: string]>): Redact {
  return createRedactor(headers
    .filter(([name, value]) => isSensitive(name) || value.length >= LENGTH_OF_SECRETS)
    .map(([, value]) => withoutScheme(value)))
}

/** A credential alone: `Bearer` before it is no secret. https://www.rfc-editor.org/rfc/rfc9110#section-11.4 */
function withoutScheme (value: string): string {
  return value.replace(/^[\w-]+ +(?=\S+$)/, '')
}
