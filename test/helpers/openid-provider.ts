import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Provider } from 'oidc-provider'
import { type AtEnd } from './shared.ts'

/** A whole OpenID provider: pages to sign in, PKCE, registration of clients, tokens for a resource, refresh tokens, sign-out. */
export interface OpenIdProvider {
  readonly issuer: string
  /** Grants that were asked of its token endpoint, in order. */
  readonly grants: string[]
  /** Refuses all further refresh tokens and sign-ins, as of a person who has left. */
  close (): void
  open (): void
  /** When access tokens end that are given from now on, in s; the client is told 600. */
  lifetime: number
}

/** @param redirect where its client `console` may come back to */
export async function startOpenIdProvider (t: AtEnd, redirect: string): Promise<OpenIdProvider> {
  const server = createServer()
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const made: OpenIdProvider & { isClosed: boolean } = { issuer, grants: [], lifetime: 600, isClosed: false, close () { made.isClosed = true }, open () { made.isClosed = false } }
  const provider = new Provider(issuer, {
    clients: [{ client_id: 'console', token_endpoint_auth_method: 'none', grant_types: ['authorization_code', 'refresh_token'], redirect_uris: [redirect], post_logout_redirect_uris: [redirect] }],
    scopes: ['openid', 'offline_access', 'prompts'],
    cookies: { keys: ['a key of these tests'] },
    clientBasedCORS: () => true,
    findAccount: (_context: unknown, id: string) => made.isClosed ? undefined : { accountId: id, claims: () => ({ sub: id }) },
    // Names of groups begin what people sign in as: `dev-ann`.
    extraTokenClaims: (_context: unknown, { accountId }: { accountId: string }) => ({ groups: [accountId.split('-')[0]] }),
    issueRefreshToken: () => true,
    formats: { customizers: { jwt: (_context: unknown, _token: unknown, { payload }: { payload: { iat: number, exp: number } }) => { payload.exp = payload.iat + made.lifetime } } },
    features: {
      devInteractions: { enabled: true },
      registration: { enabled: true },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: (_context: unknown, audience: string) => ({ scope: 'prompts', audience, accessTokenTTL: 600, accessTokenFormat: 'jwt', jwt: { sign: { alg: 'RS256' } } }),
        useGrantedResource: () => true
      }
    }
  })
  const answer = provider.callback()
  provider.on('grant.success', ({ oidc }) => { made.grants.push(oidc.params.grant_type) })
  provider.on('grant.error', ({ oidc }) => { made.grants.push(`refused ${oidc.params.grant_type}`) })
  server.on('request', (request, reply) => { void answer(request, reply) })
  return made
}

/** Signs a person in without a browser, as the forms of the pages would. @returns where the client is led back to */
export async function signIn (start: string | URL, person: string, redirect: string): Promise<URL> {
  const cookies = new Map<string, string>()
  let [url, form] = [new URL(start), undefined as URLSearchParams | undefined]
  for (let steps = 0; steps < 20; steps++) {
    const reply = await fetch(url, { redirect: 'manual', method: form === undefined ? 'GET' : 'POST', body: form ?? null, headers: { cookie: Array.from(cookies, pair => pair.join('=')).join('; ') } })
    for (const cookie of reply.headers.getSetCookie()) {
      const [name = '', value = ''] = cookie.split(';', 1)[0]?.split(/=(.*)/s) ?? []
      cookies.set(name, value)
    }
    const page = await reply.text()
    form = undefined
    const location = reply.headers.get('location')
    if (location !== null) {
      url = new URL(location, url)
      if (url.href.startsWith(redirect)) return url
      continue
    }
    const [, prompt] = /name="prompt" value="(\w+)"/.exec(page) ?? []
    if (prompt === undefined) throw new Error(`${url.href} answered ${reply.status}: ${page.slice(0, 2000)}`)
    form = new URLSearchParams({ prompt, ...prompt === 'login' ? { login: person, password: 'x' } : {} })
    url = new URL(/<form[^>]* action="([^"]+)"/.exec(page)?.[1] ?? '', url)
  }
  throw new Error(`${url.href} leads nowhere`)
}
