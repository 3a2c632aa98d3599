import { useSyncExternalStore } from 'react'
import { keep, local, session } from '../parts/storage.ts'

/**
 * The name under which the browser stores the token: for this tab only, or on this device if the user chose so. The token is never stored
 * in a cookie, which other pages could use.
 */
const KEY = 'prompt-shell.token'

let token = session.getItem(KEY) ?? local.getItem(KEY) ?? ''
/** The error with which the service refused the last token, or why the console asks for another one. */
interface Refusal { readonly message: string, readonly code: string }

/** `undefined` while the console does not ask for a token. */
let refusal: Refusal | undefined
const listeners = new Set<() => void>()

export function currentToken (): string {
  return token
}

/**
 * Stores the token that later requests send; an empty one removes the stored token.
 * @param onDevice whether later tabs of this browser use the token, too
 */
export function keepToken (given: string, onDevice: boolean): void {
  token = given
  refusal = undefined
  session.removeItem(KEY)
  local.removeItem(KEY)
  if (given !== '') keep(onDevice ? local : session, KEY, given)
  tell()
}

/** Called when the service has refused a request because the token was wrong or missing; the console then asks for a token. */
export function tokenRefused (message: string, code = ''): void {
  if (refusal?.message === message) return
  refusal = { message, code }
  tell()
}

/** The reason why the console asks for a token; `undefined` while it does not ask. */
export function useRefusal (): Refusal | undefined {
  return useSyncExternalStore(listen, () => refusal)
}

function listen (listener: () => void): () => void {
  listeners.add(listener)
  return () => { listeners.delete(listener) }
}

function tell (): void {
  for (const listener of listeners) listener()
}
