import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { Client, type OAuthClientInformationMixed, type OAuthClientProvider, type OAuthDiscoveryState, type OAuthTokens, StreamableHTTPClientTransport, UnauthorizedError } from '@modelcontextprotocol/client'
import { freePort } from '../../helpers/free-port.ts'
import { type OpenIdProvider, signIn, startOpenIdProvider } from '../../helpers/openid-provider.ts'
import { type Service, startService } from '../../helpers/service.ts'
import { createTemporaryFolder } from '../../helpers/temporary-folder.ts'

const REDIRECT = 'http://127.0.0.1:9/callback'

async function start (t: TestContext, path = '/mcp'): Promise<Service & { readonly origin: string, readonly provider: OpenIdProvider }> {
  const provider = await startOpenIdProvider(t, REDIRECT)
  const folder = await createTemporaryFolder()
  t.after(folder.remove)
  await folder.write('operator.yaml', 'identities: [{ claim: groups, value: dev, gives: "render:prompts=team.*" }]')
  const port = await freePort()
  const origin = `http://127.0.0.1:${port}`
  const service = await startService(t, { 'templates:team:greet': { description: 'Greets', userPrompt: 'Hello {{caller.name}}' }, 'templates:other': 'x' }, {
    AUTH_ISSUER: provider.issuer, AUTH_AUDIENCE: `${origin}${path}`, AUTH_SCOPE: 'openid prompts', OPERATOR_FILE: join(folder.path, 'operator.yaml')
  })
  await service.app.listen({ host: '127.0.0.1', port })
  return { ...service, origin, provider }
}

/** What a client on a person's machine keeps; it was never told of the provider. */
class Memory implements OAuthClientProvider {
  readonly redirectUrl = REDIRECT
  readonly clientMetadata = { client_name: 'a public client', redirect_uris: [REDIRECT], token_endpoint_auth_method: 'none', grant_types: ['authorization_code', 'refresh_token'], response_types: ['code'] }
  known: OAuthClientInformationMixed | undefined
  given: OAuthTokens | undefined
  led: URL | undefined
  verifier = ''
  found: OAuthDiscoveryState | undefined

  clientInformation () { return this.known }
  saveClientInformation (known: OAuthClientInformationMixed) { this.known = known }
  tokens () { return this.given }
  saveTokens (given: OAuthTokens) { this.given = given }
  redirectToAuthorization (url: URL) { this.led = url }
  saveCodeVerifier (verifier: string) { this.verifier = verifier }
  saveDiscoveryState (found: OAuthDiscoveryState) { this.found = found }
  discoveryState () { return this.found }
  codeVerifier () { return this.verifier }
}

async function connect (t: TestContext, origin: string, memory: Memory): Promise<{ readonly client: Client, readonly transport: StreamableHTTPClientTransport, readonly error: unknown }> {
  const client = new Client({ name: 'test', version: '1' })
  t.after(() => client.close())
  const transport = new StreamableHTTPClientTransport(new URL('/mcp', origin), { authProvider: memory })
  const error = await client.connect(transport).then(() => undefined, (reason: unknown) => reason)
  return { client, transport, error }
}

for (const path of ['/mcp', '']) {
  describe(`A public MCP client that knows nothing but /mcp, where the audience is ${path === '' ? 'the service' : 'that address'}`, () => {
    it('finds the provider, registers, signs its person in, and lists what this person may see', async t => {
      const { origin, provider } = await start(t, path)
      const memory = new Memory()
      const { transport, error } = await connect(t, origin, memory)
      assert.ok(error instanceof UnauthorizedError, String(error))
      assert.equal(memory.led?.origin, provider.issuer)
      assert.equal(memory.led.searchParams.get('code_challenge_method'), 'S256')
      const back = await signIn(memory.led, 'dev-ann', REDIRECT)
      await transport.finishAuth(back.searchParams)
      const { client, error: none } = await connect(t, origin, memory)
      assert.equal(none, undefined)
      assert.deepEqual((await client.listPrompts()).prompts.map(({ name }) => name), ['team.greet'])
      const { messages } = await client.getPrompt({ name: 'team.greet' })
      assert.deepEqual(messages[0]?.content, { type: 'text', text: `Hello ${provider.issuer}#dev-ann` })
    })
  })
}

describe('A public MCP client', () => {
  it('whose person has no row is told so, and not sent to sign in again', async t => {
    const { origin, post, provider } = await start(t)
    const memory = new Memory()
    const { transport } = await connect(t, origin, memory)
    await transport.finishAuth((await signIn(memory.led as URL, 'guest-eve', REDIRECT)).searchParams)
    const { status, json } = await post('/mcp', { jsonrpc: '2.0', id: 1, method: 'ping' }, { authorization: `Bearer ${String(memory.given?.access_token)}` })
    assert.deepEqual([status, json['code'], json['details']?.['token']], [403, 'IDENTITY_UNLISTED', `${provider.issuer}#guest-eve`])
  })

  it('is led to the provider by the challenge, and to no server of this service\'s own', async t => {
    const { origin, get, post, provider } = await start(t)
    const { status, headers } = await post('/mcp', { jsonrpc: '2.0', id: 1, method: 'ping' })
    assert.deepEqual([status, headers['www-authenticate']], [401, `Bearer realm="ai-prompt-shell", resource_metadata="${origin}/.well-known/oauth-protected-resource/mcp"`])
    const metadata = { resource: `${origin}/mcp`, authorization_servers: [provider.issuer], bearer_methods_supported: ['header'], resource_name: 'ai-prompt-shell', scopes_supported: ['prompts'] }
    for (const path of ['', '/mcp']) assert.deepEqual((await get(`/.well-known/oauth-protected-resource${path}`)).json, metadata)
    for (const path of ['oauth-authorization-server', 'openid-configuration', 'oauth-protected-resource/other']) assert.equal((await get(`/.well-known/${path}`)).status, 404)
  })

  it('is refused a token that its person got for another service', async t => {
    const { origin, provider, post } = await start(t)
    const memory = new Memory()
    await connect(t, origin, memory)
    const url = memory.led as URL
    url.searchParams.set('resource', 'https://other.example.com/')
    const code = (await signIn(url, 'dev-ann', REDIRECT)).searchParams.get('code') ?? ''
    const body = new URLSearchParams({ grant_type: 'authorization_code', code, client_id: String(memory.known?.client_id), code_verifier: memory.verifier, redirect_uri: REDIRECT, resource: 'https://other.example.com/' })
    const { access_token: token } = await (await fetch(`${provider.issuer}/token`, { method: 'POST', body })).json() as { access_token: string }
    const { status, json } = await post('/mcp', { jsonrpc: '2.0', id: 1, method: 'ping' }, { authorization: `Bearer ${token}` })
    assert.deepEqual([status, json['message']], [401, `The token is none that this service knows: expected the audience ${origin}/mcp`])
  })
})
