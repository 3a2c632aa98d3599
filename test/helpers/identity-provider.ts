import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type CryptoKey, exportJWK, generateKeyPair, type JWK, type JWTHeaderParameters, type JWTPayload, SignJWT } from 'jose'
import { type AtEnd } from './shared.ts'

export const AUDIENCE = 'https://prompts.example.com/mcp'

export interface IdentityProvider {
  readonly issuer: string
  /** Addresses that were asked for, in order. */
  readonly asked: string[]
  /** Replies in place of the provider. @default it answers as it should */
  answer: ((url: string, reply: ServerResponse) => void) | undefined
  /** Published from now on, in place of the earlier one. */
  rotate (kid: string, alg?: string): Promise<void>
  /** The provider's key now, with its public half. */
  readonly key: { readonly kid: string, readonly alg: string, readonly secret: CryptoKey, readonly jwk: JWK }
  /** A token that is right but for what is given; `undefined` leaves a claim out. */
  token (claims?: JWTPayload, header?: Partial<JWTHeaderParameters>, secret?: CryptoKey | Uint8Array): Promise<string>
  /** Environment of a service that takes its tokens. */
  environment (operatorFile: string): Record<string, string>
}

/** The two documents of an OpenID provider by which tokens are checked, and the key that signs them. */
export async function startIdentityProvider (t: AtEnd, alg = 'RS256'): Promise<IdentityProvider> {
  let key = await makeKey('first', alg)
  const asked: string[] = []
  const server = createServer(({ url = '' }, reply) => {
    asked.push(url)
    if (provider.answer !== undefined) return provider.answer(url, reply)
    const body = url === '/jwks' ? { keys: [key.jwk] } : { issuer, jwks_uri: `${issuer}/jwks`, authorization_endpoint: `${issuer}/auth`, token_endpoint: `${issuer}/token` }
    reply.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const provider: IdentityProvider = {
    issuer,
    asked,
    answer: undefined,
    async rotate (kid, alg = 'RS256') {
      key = await makeKey(kid, alg)
    },
    get key () { return key },
    async token (claims = {}, header = {}, secret = key.secret) {
      const now = Math.floor(Date.now() / 1000)
      const whole = { iss: issuer, aud: AUDIENCE, sub: 'ann', groups: ['dev'], iat: now, exp: now + 600, ...claims }
      return await new SignJWT(JSON.parse(JSON.stringify(whole)) as JWTPayload).setProtectedHeader({ alg: key.alg, kid: key.kid, typ: 'at+jwt', ...header }).sign(secret)
    },
    environment: file => ({ AUTH_ISSUER: issuer, AUTH_AUDIENCE: AUDIENCE, OPERATOR_FILE: file })
  }
  return provider
}

async function makeKey (kid: string, alg: string) {
  const { privateKey: secret, publicKey } = await generateKeyPair(alg, { extractable: true })
  return { kid, alg, secret, jwk: { ...await exportJWK(publicKey), kid, alg, use: 'sig' } }
}
