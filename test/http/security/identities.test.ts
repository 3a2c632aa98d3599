import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { base64url, CompactEncrypt, CompactSign, type CryptoKey, exportJWK, exportSPKI, generateKeyPair, importJWK, type JWTPayload, UnsecuredJWT } from 'jose'
import { AUDIENCE, type IdentityProvider, startIdentityProvider } from '../../helpers/identity-provider.ts'
import { type Service, startService } from '../../helpers/service.ts'
import { type AtEnd, shared } from '../../helpers/shared.ts'
import { createTemporaryFolder } from '../../helpers/temporary-folder.ts'
import { tokenEntry } from '../../helpers/tokens.ts'
import { waitFor } from '../../helpers/wait-for.ts'

const ROWS = [
  { claim: 'groups', value: 'dev', gives: 'read+render:prompts=team.*:requests=60' },
  { claim: 'groups', value: 'ops', gives: 'admin:labels=production:serve=next' },
  { claim: 'groups', value: 'night', gives: 'render:prompts=night.*:requests=90' },
  { claim: 'email', value: 'boss@example.com', gives: 'admin' },
  { claim: 'scope', value: 'prompts.read', gives: 'read' },
  { claim: 'realm_access.roles', value: 'reader', gives: 'read' },
  { claim: 'https://example.com/roles', value: 'reader', gives: 'read' }
]

interface Identified extends Service {
  readonly provider: IdentityProvider
  setRows (rows: readonly object[]): Promise<void>
  /** The caller, as its token is let in; the error's code and message where it is not. */
  who (token: string): Promise<{ readonly status: number, readonly said: string, readonly json: Service['log'][number] }>
}

async function start (t: AtEnd, environment: Readonly<Record<string, string>> = {}, given?: IdentityProvider): Promise<Identified> {
  const folder = await createTemporaryFolder()
  t.after(folder.remove)
  const file = join(folder.path, 'operator.json')
  const write = (identities: readonly object[]) => writeFile(file, JSON.stringify({ identities }))
  await write(ROWS)
  const provider = given ?? await startIdentityProvider(t)
  const service = await startService(t, { 'templates:team:greet': 'Hello {{caller.name}}', 'templates:other': 'x' }, { ...provider.environment(file), API_TOKENS: tokenEntry('robot', 'read'), LOG_LEVEL: 'info', ...environment })
  return {
    ...service,
    provider,
    async setRows (rows) {
      const before = service.log.length
      await write(rows)
      await waitFor('the new rows', () => service.log.slice(before).some(({ msg }) => String(msg).startsWith('OPERATOR_FILE has changed')))
    },
    async who (token) {
      const { status, json } = await service.get('/api/caller', { authorization: `Bearer ${token}` })
      return { status, json, said: status === 200 ? String(json['name']) : `${String(json['code'])} ${String(json['message'])}` }
    }
  }
}

const started = shared(start)
const now = () => Math.floor(Date.now() / 1000)

describe('A JWT of the provider', () => {
  it('lets its holder in, under the issuer and the subject as the name, with what the operator\'s row gives', async () => {
    const { who, provider, post } = await started()
    const token = await provider.token({ sub: 'auth0|ann b' })
    const { json } = await who(token)
    assert.deepEqual({ ...json }, { name: `${provider.issuer}#auth0%7Cann%20b`, roles: ['read', 'render'], prompts: ['team.*'], mode: 'tokens' })
    const reply = await post('/api/render/prompts/team.greet', {}, { authorization: `Bearer ${token}` })
    assert.deepEqual([reply.status, reply.json['rendered_prompt'], reply.headers['x-ratelimit-limit-requests']], [200, `Hello ${provider.issuer}#auth0%7Cann%20b`, '60'])
  })

  for (const alg of ['RS256', 'ES256', 'EdDSA']) {
    it(`may be signed by ${alg}`, async t => {
      const service = await start(t, {}, await startIdentityProvider(t, alg))
      assert.equal((await service.who(await service.provider.token())).status, 200)
    })
  }

  const rights: ReadonlyArray<readonly [what: string, claims: JWTPayload, roles: readonly string[] | undefined, prompts?: readonly string[]]> = [
    ['of several rows gives what any of them does', { groups: ['dev', 'night'] }, ['read', 'render'], ['team.*', 'night.*']],
    ['of a row without patterns hides nothing', { groups: ['dev', 'ops'] }, ['read', 'render', 'chat', 'write', 'run', 'approve', 'admin']],
    ['with a group as a text has that group', { groups: 'dev' }, ['read', 'render'], ['team.*']],
    ['with a verified address has its row', { groups: [], email: 'boss@example.com', email_verified: true }, ['read', 'render', 'chat', 'write', 'run', 'approve', 'admin']],
    ['with an address that nobody has verified does not', { groups: [], email: 'boss@example.com', email_verified: false }, undefined],
    ['with an address that nobody speaks of does not', { groups: [], email: 'boss@example.com' }, undefined],
    ['with a scope among others has that scope', { groups: [], scope: 'openid prompts.read' }, ['read']],
    ['with a role in an object has it', { groups: [], realm_access: { roles: ['reader'] } }, ['read']],
    ['with a claim whose name has dots has it', { groups: [], 'https://example.com/roles': ['reader'] }, ['read']],
    ['with none of the rows gets nothing', { groups: ['Dev', 'dev ', 'devs'] }, undefined],
    ['whose groups are an object gets nothing', { groups: { dev: true } }, undefined],
    ['without groups gets nothing', { groups: undefined }, undefined]
  ]
  for (const [what, claims, roles, prompts] of rights) {
    it(what, async () => {
      const { who, provider } = await started()
      const { status, json, said } = await who(await provider.token(claims))
      if (roles === undefined) assert.match(said, /^IDENTITY_UNLISTED ".+#ann" may do nothing here: the operator's file has no row for what the token says of groups, email, scope, /)
      else assert.deepEqual([status, json['roles'], json['prompts']], [200, roles, prompts])
    })
  }

  it('is beside tokens, which go on as before', async () => {
    const { who } = await started()
    assert.equal((await who('robot-token')).said, 'robot')
  })

  it('within a minute of its end or of its beginning is taken, since clocks differ', async () => {
    const { who, provider } = await started()
    assert.equal((await who(await provider.token({ exp: now() - 50 }))).status, 200)
    assert.equal((await who(await provider.token({ nbf: now() + 50 }))).status, 200)
  })

  it('is checked once: its provider is not asked again, and no row of today is given to it from yesterday', async t => {
    const { who, provider, setRows } = await start(t)
    const token = await provider.token()
    assert.equal((await who(token)).status, 200)
    await setRows([{ claim: 'sub', value: 'bob', gives: 'read' }])
    assert.match((await who(token)).said, /^IDENTITY_UNLISTED .* what the token says of sub$/)
    await setRows([{ claim: 'sub', value: 'ann', gives: 'approve' }])
    assert.deepEqual((await who(token)).json['roles'], ['approve'])
    assert.deepEqual(provider.asked, ['/.well-known/openid-configuration', '/jwks'])
  })
})

describe('An attacker', () => {
  type Forge = (provider: IdentityProvider) => Promise<string> | string
  const part = (value: object) => base64url.encode(JSON.stringify(value))
  const foreign = shared(() => generateKeyPair('RS256', { extractable: true }))
  const claims = (provider: IdentityProvider, more: object = {}) => ({ iss: provider.issuer, aud: AUDIENCE, sub: 'ann', groups: ['ops'], exp: now() + 600, ...more })
  const headed = (header: object): Forge => async provider => await provider.token({}, header, (await foreign()).privateKey)
  const attacks: ReadonlyArray<readonly [what: string, forge: Forge, answer: RegExp]> = [
    ['with "alg": "none"', p => new UnsecuredJWT(claims(p)).encode(), /expected the algorithm RS256, ES256, EdDSA/],
    ['with "alg": "nOnE"', p => `${part({ alg: 'nOnE' })}.${part(claims(p))}.`, /expected the algorithm/],
    ['with HS256 and the public key as its secret', async p => await new CompactSign(new TextEncoder().encode(JSON.stringify(claims(p)))).setProtectedHeader({ alg: 'HS256', kid: 'first' }).sign(new TextEncoder().encode(await exportSPKI(await importJWK(p.key.jwk, 'RS256', { extractable: true }) as CryptoKey))), /expected the algorithm/],
    ['with an algorithm that the key is not for', async p => `${part({ alg: 'ES256', kid: 'first' })}.${part(claims(p))}.${base64url.encode(new Uint8Array(64))}`, /signed by none of the provider's keys/],
    ['with PS256 by the right key', async p => await p.token({}, { alg: 'PS256' }, await importJWK({ ...await jwkOf(p), alg: 'PS256' }, 'PS256') as CryptoKey), /expected the algorithm/],
    ['with a key of his own', headed({}), /signature verification failed/],
    ['with a key of his own, and a name that no key has', headed({ kid: 'mine' }), /signed by none of the provider's keys/],
    ['with a name of a key that is a path', headed({ kid: '../../../../dev/null' }), /signed by none of the provider's keys/],
    ['with a name of a key that is SQL', headed({ kid: "x' UNION SELECT 'key' --" }), /signed by none of the provider's keys/],
    ['with a name of a key that every object has', headed({ kid: '__proto__' }), /signed by none of the provider's keys/],
    ['with a key of his own in the header', async p => await headed({ jwk: await publicJwk() })(p), /signature verification failed/],
    ['with the address of his own keys in the header', p => headed({ jku: `${p.issuer}/stolen`, x5u: `${p.issuer}/stolen` })(p), /signature verification failed/],
    ['with a changed payload', async p => { const [head, , seal] = (await p.token()).split('.'); return `${head}.${part(claims(p))}.${seal}` }, /signature verification failed/],
    ['with a payload cut from another token', async p => { const [head, , seal] = (await p.token()).split('.'); const [, body] = (await p.token({ groups: ['ops'] })).split('.'); return `${head}.${body}.${seal}` }, /signature verification failed/],
    ['without a signature', async p => `${(await p.token()).split('.').slice(0, 2).join('.')}.`, /signature verification failed/],
    ['with a token that ended', p => p.token({ exp: now() - 61 }), /it has expired/],
    ['with a token without an end', p => p.token({ exp: undefined }), /"exp"/],
    ['with an end that is a text', p => p.token({ exp: String(now() + 600) as unknown as number }), /"exp"/],
    ['with a token of the future', p => p.token({ nbf: now() + 120 }), /"nbf"/],
    ['with a token for another service', p => p.token({ aud: 'https://other.example.com' }), /expected the audience https:\/\/prompts\.example\.com\/mcp/],
    ['with a token for all other services', p => p.token({ aud: ['https://other.example.com', `${AUDIENCE}/more`, '*'] }), /expected the audience/],
    ['with a token for nobody', p => p.token({ aud: undefined }), /expected the audience/],
    ['with a token of another issuer', p => p.token({ iss: 'https://evil.example.com' }), /expected the issuer http/],
    ['with an issuer that begins alike', p => p.token({ iss: `${p.issuer}.evil.example.com` }), /expected the issuer/],
    ['with a token without a subject', p => p.token({ sub: undefined }), /"sub"/],
    ['with a subject that is no text', p => p.token({ sub: { toString: 'ann' } as unknown as string }), /subject/],
    ['with an empty subject', p => p.token({ sub: '' }), /subject/],
    ['with a critical extension that nobody knows', async p => `${part({ alg: 'RS256', kid: 'first', crit: ['trick'], trick: true })}.${(await p.token({ groups: ['ops'] })).split('.').slice(1).join('.')}`, /trick/i],
    ['with an unencoded payload', async p => `${part({ alg: 'RS256', kid: 'first', b64: false, crit: ['b64'] })}.${part(claims(p))}.${(await p.token()).split('.')[2]}`, /TOKEN_UNKNOWN/],
    ['with a logout token', p => p.token({}, { typ: 'logout+jwt' }), /expected the type JWT or at\+jwt, got logout\+jwt/],
    ['with a token that is bound to a key of its holder', p => p.token({ cnf: { jkt: 'x' } }), /bound to a key/],
    ['with a JWT within a JWT', async p => await p.token({}, { cty: 'JWT' }, p.key.secret).then(inner => new CompactSign(new TextEncoder().encode(inner)).setProtectedHeader({ alg: 'RS256', kid: 'first', cty: 'JWT' }).sign(p.key.secret)), /TOKEN_UNKNOWN/],
    ['with an encrypted token', async p => await new CompactEncrypt(new TextEncoder().encode(await p.token())).setProtectedHeader({ alg: 'RSA-OAEP', enc: 'A256GCM' }).encrypt((await generateKeyPair('RSA-OAEP')).publicKey), /TOKEN_UNKNOWN/],
    ['with a token of 9,000 characters', p => p.token({ padding: 'x'.repeat(9000) }), /longer than 8192 characters/],
    ['with a header of the key that decides the type of all objects', async p => `${base64url.encode('{"alg":"RS256","kid":"first","__proto__":{"admin":true}}')}.${part(claims(p))}.AAAA`, /signature verification failed/],
    ['with dots alone', () => '..', /TOKEN_UNKNOWN/],
    ['with three parts that are no JSON', () => 'abc.def.ghi', /TOKEN_UNKNOWN/]
  ]
  const publicJwk = async () => await exportJWK((await foreign()).publicKey)
  const jwkOf = async (p: IdentityProvider) => await exportJWK(p.key.secret)
  for (const [what, forge, answer] of attacks) {
    it(`${what} is told why, and is nobody`, async () => {
      const { who, provider, log } = await started()
      const token = await forge(provider)
      const { status, said, json } = await who(token)
      assert.equal(status, 401, said)
      assert.match(said, /^TOKEN_UNKNOWN/)
      assert.match(said, answer)
      const shown = JSON.stringify([json, log])
      assert.ok(!shown.includes(token) && !/"ops"|stolen/.test(shown))
      assert.ok(!provider.asked.includes('/stolen'))
    })
  }

  it('who knows a subject gets no rights by a token of API_TOKENS of that name, nor the other way round', async t => {
    const service = await start(t, { API_TOKENS: tokenEntry('ann', 'read') })
    assert.equal((await service.who('ann-token')).said, 'ann')
    assert.equal((await service.who(await service.provider.token({ sub: 'ann' }))).said, `${service.provider.issuer}#ann`)
  })

  it('who sends made-up names of keys makes the service ask its provider once in a while, not each time', async t => {
    const { who, provider } = await start(t)
    for (let n = 0; n < 50; n++) await who(await provider.token({}, { kid: `made-up-${n}` }))
    assert.ok(provider.asked.length <= 4, `${provider.asked.length}`)
  })
})

describe('A provider', { concurrency: true }, () => {
  it('that is away at the start is said to be, and its tokens get in once it is back', async t => {
    const provider = await startIdentityProvider(t)
    provider.answer = (_url, reply) => { reply.writeHead(503).end() }
    const { who, get, log } = await start(t, {}, provider)
    const token = await provider.token()
    assert.match((await who(token)).said, /^IDENTITY_PROVIDER_AWAY The token cannot be checked: http:\/\/127\.0\.0\.1:\d+ does not tell its keys now; try again$/)
    assert.equal((await who('robot-token')).said, 'robot')
    const readiness = await get('/readyz')
    assert.deepEqual([readiness.status, readiness.json['identities']?.['available']], [200, false])
    assert.match(String(readiness.json['identities']?.['details']), /openid-configuration answered 503$/)
    assert.equal(log.filter(({ msg }) => String(msg) === 'the identity provider does not tell its keys: nobody gets in with a JWT until then').length, 1)
    provider.answer = undefined
    await waitFor('the provider to be asked again', async () => (await who(token)).status === 200)
    assert.deepEqual((await get('/readyz')).json['identities'], { available: true })
  })

  it('that goes away later leaves its keys in force', async t => {
    const { who, provider } = await start(t)
    assert.equal((await who(await provider.token())).status, 200)
    provider.answer = (_url, reply) => { reply.destroy() }
    assert.equal((await who(await provider.token({ sub: 'bob' }))).status, 200)
  })

  it('that rotates its keys under load refuses nobody: one look serves all', async t => {
    const { who, provider } = await start(t)
    await who(await provider.token())
    provider.asked.length = 0
    await waitFor('a look for a new key to be due', async () => {
      await provider.rotate('second')
      return (await who(await provider.token())).status === 200
    })
    const looks = provider.asked.length
    const many = await Promise.all(Array.from({ length: 100 }, async (_, n) => (await who(await provider.token({ sub: `user-${n}` }))).status))
    assert.deepEqual([new Set(many), provider.asked.length], [new Set([200]), looks])
  })

  it('that withdraws a key refuses the tokens of that key, those too that were checked before', async t => {
    const { who, provider } = await start(t)
    const before = await provider.token()
    assert.equal((await who(before)).status, 200)
    await waitFor('a look for a new key to be due', async () => {
      await provider.rotate('second')
      return (await who(await provider.token())).status === 200
    })
    assert.match((await who(before)).said, /signed by none of the provider's keys/)
  })

  const bad: ReadonlyArray<readonly [what: string, answer: NonNullable<IdentityProvider['answer']>, why: RegExp]> = [
    ['whose keys never end', (url, reply) => { reply.writeHead(200); if (url === '/jwks') endless(reply); else reply.end(found(reply)) }, /answered more than 262144 characters/],
    ['that leads elsewhere', (_url, reply) => { reply.writeHead(302, { location: '/jwks' }).end() }, /answered 302/],
    ['of another issuer', (_url, reply) => { reply.writeHead(200).end('{"issuer":"https://other.example.com"}') }, /expected the issuer http:\/\/127\.0\.0\.1:\d+, got https:\/\/other\.example\.com/],
    ['whose keys are elsewhere, and anybody\'s to change', (_url, reply) => { reply.writeHead(200).end(found(reply, 'http://keys.example.com/')) }, /expected an https address of the provider, got "http:\/\/keys\.example\.com\/"/],
    ['that answers with a page', (_url, reply) => { reply.writeHead(200).end('<html>') }, /answered no JSON/],
    ['whose keys are no set', (url, reply) => { reply.writeHead(200).end(url === '/jwks' ? '{"keys":"x"}' : found(reply)) }, /JSON Web Key Set malformed/]
  ]
  const found = (reply: { readonly req: { readonly headers: { readonly host?: string | undefined } } }, keys?: string) => JSON.stringify({ issuer: `http://${reply.req.headers.host}`, jwks_uri: keys ?? `http://${reply.req.headers.host}/jwks` })
  const endless = (reply: Parameters<NonNullable<IdentityProvider['answer']>>[1]): void => {
    if (!reply.destroyed) reply.write(`{"keys":[${' '.repeat(65_536)}`, () => { endless(reply) })
  }
  for (const [what, answer, why] of bad) {
    it(`${what} is refused with words`, async t => {
      const provider = await startIdentityProvider(t)
      provider.answer = answer
      const { get, who } = await start(t, {}, provider)
      assert.match((await who(await provider.token())).said, /^IDENTITY_PROVIDER_AWAY/)
      assert.match(String((await get('/readyz')).json['identities']?.['details']), why)
    })
  }

  const wrong: ReadonlyArray<readonly [what: string, environment: Readonly<Record<string, string>>, why: RegExp]> = [
    ['without an audience', { AUTH_AUDIENCE: '' }, /^AUTH_AUDIENCE: expected an audience, else a token/],
    ['at an address that anybody may change on the way', { AUTH_ISSUER: 'http://id.example.com' }, /^AUTH_ISSUER: expected an https address/],
    ['without an operator\'s file', { OPERATOR_FILE: '' }, /^OPERATOR_FILE: expected a file with identities/],
    ['beside AUTH=off', { AUTH: 'off', API_TOKENS: '' }, /^AUTH=off and AUTH_ISSUER: expected one of them/],
    ['that is missing beside its audience', { AUTH_ISSUER: '' }, /^AUTH_ISSUER: expected the address of an OpenID provider/]
  ]
  for (const [what, environment, why] of wrong) {
    it(`${what} stops the start with words`, async t => {
      await assert.rejects(start(t, environment), ({ message }: Error) => why.test(message))
    })
  }

  it('with a row that cannot be read stops the start, and says which', async t => {
    const folder = await createTemporaryFolder()
    t.after(folder.remove)
    const file = join(folder.path, 'operator.json')
    const provider = await startIdentityProvider(t)
    await writeFile(file, JSON.stringify({ identities: [ROWS[0], { claim: 'groups', value: 'dev', gives: 'root' }] }))
    await assert.rejects(startService(t, {}, provider.environment(file)), { message: 'OPERATOR_FILE: identities: row 2 (groups "dev"): expected roles out of read, render, chat, write, run, approve, admin, terminal, joined by "+"' })
    await writeFile(file, '{}')
    await assert.rejects(startService(t, {}, provider.environment(file)), /OPERATOR_FILE: identities: expected at least one row/)
  })
})
