/*
 * Signing in at the provider whose tokens the service takes: authorization code with PKCE (https://www.rfc-editor.org/rfc/rfc7636), as a
 * public client. Tokens are in this page's memory only. What the tab keeps is the proof of a sign-in on its way, and that it has signed in,
 * so that a page that is loaded again goes to the provider by itself, where its user is still known.
 */
import { holdToken, keepToken, tokenRefused } from './token.ts'
import { t } from '../text/text.ts'

/** What the service tells of its provider; the addresses are empty while the provider does not answer. */
interface SignIn {
  readonly client: string
  readonly issuer: string
  readonly scope: string
  readonly resource?: string
  readonly authorize: string
  readonly token: string
  readonly end: string
}

interface Pending { readonly state: string, readonly verifier: string, readonly path: string }

interface Tokens { readonly access_token: string, readonly refresh_token?: string | undefined, readonly id_token?: string, readonly expires_in?: number }

const [PENDING, SIGNED_IN] = ['prompt-shell.sign-in', 'prompt-shell.signed-in']

/** Before its end a token is replaced, in ms; the least time until that, also after a failure. */
const [EARLY, AGAIN] = [60_000, 10_000]

export const provider = JSON.parse(document.querySelector<HTMLMetaElement>('meta[name="sign-in"]')?.content ?? '') as SignIn

let held: Tokens | undefined
/** As `Date.now()`. */
let end = 0
let timer: ReturnType<typeof setTimeout> | undefined
let renewing: Promise<boolean> | undefined

/** It is shown only: the service itself decides who it is. */
function nameOf (name: string): string {
  const { name: whole, preferred_username: short, email } = claimsOf(held?.id_token)
  return [whole, short, email].find((each): each is string => typeof each === 'string' && each !== '') ?? decodeURIComponent(name.slice(name.indexOf('#') + 1))
}

/** Leaves the page for the provider's. @param prompt `login` for somebody else than whom the provider knows */
export async function signIn (prompt?: 'login'): Promise<void> {
  const { client, authorize, scope, resource } = provider
  const [state, verifier] = [random(), random()]
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(verifier))
  sessionStorage.setItem(PENDING, JSON.stringify({ state, verifier, path: location.pathname + location.search } satisfies Pending))
  sessionStorage.removeItem(SIGNED_IN)
  location.assign(withQuery(authorize, {
    response_type: 'code', client_id: client, redirect_uri: home(), scope, resource, state, code_challenge: base64url(digest), code_challenge_method: 'S256', prompt
  }))
}

/** Called before the page is drawn: ends a sign-in that comes back, and begins one where the page was only loaded again. */
export async function resumeSignIn (): Promise<void> {
  if (provider.authorize === '') return
  const answer = new URLSearchParams(location.search)
  const state = answer.get('state')
  if (location.pathname !== '/console/' || state === null) {
    if (sessionStorage.getItem(SIGNED_IN) === null) return
    await signIn()
    // Nothing is drawn any more: the page is being left.
    await new Promise(() => {})
  }
  const pending = JSON.parse(sessionStorage.getItem(PENDING) ?? 'null') as Pending | null
  sessionStorage.removeItem(PENDING)
  // Neither the code nor the state stays in the address.
  history.replaceState(null, '', pending?.state === state ? pending.path : '/console/')
  if (pending?.state !== state) return refuse(t.signInForeign)
  // Another provider could answer in this one's name: https://www.rfc-editor.org/rfc/rfc9207
  if ((answer.get('iss') ?? provider.issuer) !== provider.issuer) return refuse(t.signInForeign)
  const code = answer.get('code')
  if (code === null) return refuse(answer.get('error_description') ?? answer.get('error') ?? '')
  const outcome = await ask({ grant_type: 'authorization_code', code, redirect_uri: home(), code_verifier: pending.verifier })
  if (typeof outcome === 'string') refuse(outcome)
  else take(outcome)
}

/** Forgets the tokens, and lets the provider forget its user where it can. */
function leave (): void {
  const hint = held?.id_token
  clearTimeout(timer)
  held = undefined
  sessionStorage.removeItem(SIGNED_IN)
  keepToken('', false)
  if (provider.end === '') tokenRefused(t.signedOut)
  else location.assign(withQuery(provider.end, { client_id: provider.client, id_token_hint: hint, post_logout_redirect_uri: home() }))
}

function take (tokens: Tokens): void {
  const lifetime = (tokens.expires_in ?? 300) * 1000
  held = { ...held, ...tokens }
  end = Date.now() + lifetime
  sessionStorage.setItem(SIGNED_IN, 'yes')
  holdToken(tokens.access_token, { nameOf, renew: renewRefused, leave, leaveTitle: t.signOut })
  renewAfter(Math.max(lifetime - EARLY, lifetime / 2, AGAIN))
}

function renewAfter (time: number): void {
  clearTimeout(timer)
  if (held?.refresh_token !== undefined) timer = setTimeout(() => { void renew() }, time)
}

/** @param refused `''` for that of a socket, which may have been opened by an earlier token */
async function renewRefused (refused: string): Promise<boolean> {
  const isEarlier = refused === '' ? Date.now() < end - EARLY / 2 : refused !== held?.access_token
  return isEarlier || await renew()
}

async function renew (): Promise<boolean> {
  const refresh = held?.refresh_token
  if (refresh === undefined) return false
  renewing ??= ask({ grant_type: 'refresh_token', refresh_token: refresh }).then(outcome => {
    renewing = undefined
    if (held === undefined) return false
    if (typeof outcome === 'string') {
      renewAfter(AGAIN)
      return false
    }
    take(outcome)
    // Sessions go on by the newest token that the service has seen.
    void fetch('/api/caller', { headers: { authorization: `Bearer ${outcome.access_token}` } }).catch(() => {})
    return true
  })
  return await renewing
}

/** @returns why there are none */
async function ask (given: Readonly<Record<string, string>>): Promise<Tokens | string> {
  const { token, client, resource } = provider
  try {
    const body = new URLSearchParams({ client_id: client, ...given, ...resource === undefined ? {} : { resource } })
    const reply = await fetch(token, { method: 'POST', body, credentials: 'omit', referrerPolicy: 'no-referrer' })
    const { error, error_description: reason, ...tokens } = await reply.json() as Tokens & { readonly error?: string, readonly error_description?: string }
    if (reply.ok) return tokens
    // A refresh token that is refused is refused another time, too.
    if (error === 'invalid_grant' && held !== undefined) held = { ...held, refresh_token: undefined }
    return reason ?? error ?? `HTTP ${reply.status}`
  } catch {
    return t.signInAway
  }
}

function refuse (reason: string): void {
  tokenRefused(t.signInFailed(reason))
}

function home (): string {
  return `${location.origin}/console/`
}

function withQuery (address: string, query: Readonly<Record<string, string | undefined>>): string {
  const url = new URL(address)
  for (const [name, value] of Object.entries(query)) if (value !== undefined) url.searchParams.set(name, value)
  return url.href
}

function random (): string {
  return base64url(crypto.getRandomValues(new Uint8Array(32)).buffer)
}

function base64url (bytes: ArrayBuffer): string {
  return btoa(String.fromCharCode(...new Uint8Array(bytes))).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
}

function claimsOf (token: string | undefined): Readonly<Record<string, unknown>> {
  try {
    const text = atob((token ?? '').split('.')[1]?.replaceAll('-', '+').replaceAll('_', '/') ?? '')
    return JSON.parse(new TextDecoder().decode(Uint8Array.from(text, letter => letter.charCodeAt(0)))) as Record<string, unknown>
  } catch {
    return {}
  }
}
