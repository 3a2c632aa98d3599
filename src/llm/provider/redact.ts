import { isSensitive } from '../../tool/definition/headers.ts'

/** Takes secrets out of a text of the upstream. */
export type Redact = (text: string) => string

/** A header's name may say nothing of what is in it, so from this length on its value is a secret, in characters. */
const LENGTH_OF_SECRETS = 8

/**
 * Takes what an operator has put into the headers of requests out of what comes back, since callers read that and some
 * gateways print a request's headers into their errors.
 */
export function redactHeaders (headers: ReadonlyArray<readonly [name: string, value: string]>): Redact {
  const secrets = headers
    .filter(([name, value]) => isSensitive(name) || value.length >= LENGTH_OF_SECRETS)
    .map(([, value]) => withoutScheme(value))
    .filter(secret => secret !== '')
    // One that begins with another would leave its rest.
    .sort((one, other) => other.length - one.length)
  if (secrets.length === 0) return text => text
  const pattern = new RegExp(secrets.map(anySpelling).join('|'), 'g')
  return text => text.replaceAll(pattern, '[secret]')
}

/**
 * Matches a text as it is, and as JSON may write it, up to three times within each other: `\/` and `\u002f` for a slash.
 * Without that bound a long run of backslashes would be read again from each of them.
 */
function anySpelling (text: string): string {
  return Array.from(text, character => {
    const code = character.charCodeAt(0).toString(16).padStart(4, '0')
    return `\\\\{0,7}(?:${character.replace(/\W/, '\\$&')}|u${code}|u${code.toUpperCase()})`
  }).join('')
}

/** A credential alone: `Bearer` before it is no secret. https://www.rfc-editor.org/rfc/rfc9110#section-11.4 */
function withoutScheme (value: string): string {
  return value.replace(/^[\w-]+ +(?=\S+$)/, '')
}
