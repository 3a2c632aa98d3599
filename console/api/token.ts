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
/** Whether a provider can be signed in at; the code for that is loaded only then. */
export const hasProvider = document.querySelector<HTMLMetaElement>('meta[name="sign-in"]')?.content !== ''

/** A user who has signed in at the provider. */
interface SignedIn {
  /** How the provider calls the user. @param caller the service's name */
  nameOf (caller: string): string
  /** Gets another token without the user. @returns whether there is one */
  renew (refused: string): Promise<boolean>
  leave (): void
  readonly leaveTitle: string
}

/** `undefined` while nobody has signed in, as with a token. */
export let signedIn: SignedIn | undefined
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
  signedIn = undefined
  refusal = undefined
  session.removeItem(KEY)
  local.removeItem(KEY)
  if (given !== '') keep(onDevice ? local : session, KEY, given)
  tell()
}

/** Later requests send a token that is stored nowhere. */
export function holdToken (given: string, by: SignedIn): void {
  token = given
  signedIn = by
  refusal = undefined
  tell()
}

/**
 * Called when the service has refused a token: another one is got where that can be without the user, who is asked otherwise.
 * @param refused the token; left out for that of a socket
 * @returns whether there is another one
 */
export async function tokenGone (message: string, code: string, refused = ''): Promise<boolean> {
  if (await signedIn?.renew(refused) === true) return true
  // Why signing in has failed says more than that nobody is signed in.
  if (refusal === undefined || code !== 'TOKEN_REQUIRED') tokenRefused(message, code)
  return false
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
