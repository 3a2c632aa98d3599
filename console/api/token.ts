import { useSyncExternalStore } from 'react'

/** Where the token lies: for this tab, or on this device where its user chose so. Never in a cookie, which other pages could use. */
const KEY = 'prompt-shell.token'

let token = sessionStorage.getItem(KEY) ?? localStorage.getItem(KEY) ?? ''
/** Why a token is asked for: the words of the refusal. */
let refusal: string | undefined
const listeners = new Set<() => void>()

export function currentToken (): string {
  return token
}

/** Takes a token from now on; an empty one forgets it. */
export function keepToken (given: string, onDevice: boolean): void {
  token = given
  refusal = undefined
  sessionStorage.removeItem(KEY)
  localStorage.removeItem(KEY)
  if (given !== '') (onDevice ? localStorage : sessionStorage).setItem(KEY, given)
  tell()
}

/** Called when the service has refused the token, or the want of one. */
export function tokenRefused (message: string): void {
  if (refusal === message) return
  refusal = message
  tell()
}

/** Why a token is asked for; undefined while none is. */
export function useRefusal (): string | undefined {
  return useSyncExternalStore(listen, () => refusal)
}

function listen (listener: () => void): () => void {
  listeners.add(listener)
  return () => { listeners.delete(listener) }
}

function tell (): void {
  for (const listener of listeners) listener()
}
