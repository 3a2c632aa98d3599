/** The base URL of the model that repeats what it is told. */
export const ECHO_URL = 'builtin:echo'

/** The base URL of the model that answers from a file of replies. */
export const SCRIPT_URL = 'builtin:script'

/** Whether a base URL stands for a model of the service's own, which needs no network. */
export function isBuiltin (url: string): boolean {
  return url === ECHO_URL || url === SCRIPT_URL
}
