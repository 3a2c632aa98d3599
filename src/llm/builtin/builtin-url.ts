/** The base URL of the builtin model that repeats what it is told. */
export const ECHO_URL = 'builtin:echo'

/** The base URL of the builtin model that answers from a file of replies. */
export const SCRIPT_URL = 'builtin:script'

/** Whether a base URL names a builtin model, which runs in the service itself and needs no network. */
export function isBuiltin (url: string): boolean {
  return url === ECHO_URL || url === SCRIPT_URL
}
