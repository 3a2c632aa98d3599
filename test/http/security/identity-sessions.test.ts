import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { type AskingPlace, type AskingService, askingPlace } from '../../helpers/asking-skill.ts'
import { type IdentityProvider, startIdentityProvider } from '../../helpers/identity-provider.ts'
import { startRedisServer } from '../../helpers/redis-server.ts'
import { connectSocket } from '../../helpers/socket-client.ts'
import { createTemporaryFolder } from '../../helpers/temporary-folder.ts'
import { bearer, tokenEntry } from '../../helpers/tokens.ts'
import { waitFor } from '../../helpers/wait-for.ts'

const ANN = { claim: 'sub', value: 'ann', gives: 'run' }
const OTHER = { claim: 'sub', value: 'other', gives: 'run' }
const BOB = tokenEntry('bob', 'approve')

interface Identified {
  readonly place: AskingPlace
  readonly provider: IdentityProvider
  start (environment?: Readonly<Record<string, string>>, identities?: readonly object[]): Promise<AskingService>
  /** Headers of ann, whose token is taken for so many seconds. */
  ann (seconds?: number): Promise<Readonly<Record<string, string>>>
}

async function identified (t: TestContext): Promise<Identified> {
  const provider = await startIdentityProvider(t)
  const place = await askingPlace(t, [BOB])
  return {
    place,
    provider,
    start: (environment = {}, identities = [ANN, OTHER]) => place.start({ identities }, { ...provider.environment(place.operatorFile), AUTH_GRACE_MS: '0', ...environment }),
    // Clocks may differ by a minute.
    ann: async (seconds = 600) => ({ authorization: `Bearer ${await provider.token({ exp: Math.floor(Date.now() / 1000) + seconds - 60 })}` })
  }
}

async function approve (service: AskingService, { approval }: { readonly approval: AskingService['log'][number] }): Promise<number> {
  return (await service.post(`/api/approvals/${String(approval['id'])}`, { decision: 'approve', digest: approval['digest'] }, bearer('bob'))).status
}

/** Whether the skill's first command was run, or why not. */
async function outcome (service: AskingService, id: string, headers: Readonly<Record<string, string>>): Promise<string> {
  return await waitFor('an outcome', async () => /"exitCode":0|OWNER_GONE/.exec((await service.app.inject({ url: `/api/sessions/${id}/audit`, headers })).body)?.[0])
}

describe('When a JWT expires, or its rows are gone', () => {
  for (const [what, seconds, rows] of [['expiry', 10, undefined], ['taken rows', 600, [OTHER]]] as const) {
    it(`by ${what}, its socket and its streams end, and its approvals are nobody's`, async t => {
      const { start, ann } = await identified(t)
      const service = await start()
      const origin = await service.listen()
      const headers = await ann(seconds)
      const walk = await service.walk(headers)
      const { socket } = await connectSocket(t, origin, { headers: { ...headers } })
      const closed = once(socket, 'close') as Promise<[number]>
      const streams = await Promise.all([`/api/sessions/${walk.id}/events`, '/api/events'].map(path => fetch(`${origin}${path}`, { headers: { ...headers } })))
      if (rows !== undefined) await service.setIdentities(rows)
      assert.equal((await closed)[0], 4401)
      for (const stream of streams.filter(({ status }) => status === 200)) assert.match(await stream.text(), /event: error\ndata: .*(?:TOKEN_UNKNOWN|IDENTITY_UNLISTED)/)
      assert.deepEqual((await service.get('/api/approvals', bearer('bob'))).json['approvals'], [])
      assert.equal(await approve(service, walk), 200)
      await service.setIdentities([ANN])
      assert.equal(await outcome(service, walk.id, await ann()), 'OWNER_GONE')
    })
  }

  it('its session goes on by a newer one', async t => {
    const { start, ann } = await identified(t)
    const service = await start()
    const old = await ann(3)
    const walk = await service.walk(old)
    const fresh = await ann()
    assert.equal((await service.get(`/api/sessions/${walk.id}`, fresh)).status, 200)
    await waitFor('the old one to expire', async () => (await service.get('/api/caller', old)).status === 401)
    assert.equal(await approve(service, walk), 200)
    assert.equal(await outcome(service, walk.id, fresh), '"exitCode":0')
  })

  it('its session goes on for the time of grace, and its holder does not', async t => {
    const { start, ann } = await identified(t)
    const service = await start({ AUTH_GRACE_MS: '600000' })
    const old = await ann(3)
    const walk = await service.walk(old)
    await waitFor('it to expire', async () => (await service.get('/api/caller', old)).status === 401)
    assert.equal(await approve(service, walk), 200)
    assert.equal(await outcome(service, walk.id, await ann()), '"exitCode":0')
  })
})

describe('The owner of a session', () => {
  it('is known to the next process, by what the operator gives then, and no token is kept', async t => {
    const { start, ann, provider } = await identified(t)
    const folder = await createTemporaryFolder()
    t.after(folder.remove)
    const first = await start({ SESSION_STORE: folder.path })
    const headers = await ann()
    const walks = [await first.walk(headers), await first.walk(headers)] as const
    await first.app.close()
    const kept = await readFile(join(folder.path, 'owners.json'), 'utf8')
    assert.ok(kept.includes(`${provider.issuer}#ann`) && !kept.includes('eyJ'), kept)
    const second = await start({ SESSION_STORE: folder.path })
    assert.equal(await approve(second, walks[0]), 200)
    assert.equal(await outcome(second, walks[0].id, headers), '"exitCode":0')
    await second.app.close()
    const third = await start({ SESSION_STORE: folder.path }, [OTHER])
    assert.equal(await approve(third, walks[1]), 200)
    await third.setIdentities([ANN])
    assert.equal(await outcome(third, walks[1].id, await ann()), 'OWNER_GONE')
  })

  it('gets nothing from a record that another program has written', async t => {
    const { start, ann, provider } = await identified(t)
    const folder = await createTemporaryFolder()
    t.after(folder.remove)
    const environment = { SESSION_STORE: folder.path, SESSION_SECRET: 's'.repeat(32) }
    const first = await start(environment)
    const walk = await first.walk(await ann())
    await first.app.close()
    const file = join(folder.path, 'owners.json')
    const name = `${provider.issuer}#ann`
    await writeFile(file, JSON.stringify([[name, `x ${JSON.stringify({ rows: [JSON.stringify(['sub', 'ann'])], issued: 9e9, until: 9e15 })}`]]))
    const second = await start(environment)
    assert.equal(await approve(second, walk), 200)
    assert.equal(await outcome(second, walk.id, await ann()), 'OWNER_GONE')
  })

  it('is known to another replica, as soon as that gets the session', async t => {
    const redis = await startRedisServer()
    t.after(() => redis.stop())
    const { start, ann } = await identified(t)
    const environment = { SESSION_STORE: redis.url, SESSION_SECRET: 's'.repeat(32) }
    const [first, second] = [await start(environment), await start(environment)]
    const headers = await ann()
    const walk = await first.walk(headers)
    await second.get('/api/approvals', bearer('bob'))
    await waitFor('the approval', async () => String((await second.get('/api/approvals', bearer('bob'))).json['approvals']?.['0']?.['id']) === String(walk.approval['id']))
    await first.app.close()
    assert.equal(await approve(second, walk), 200)
    assert.equal(await outcome(second, walk.id, headers), '"exitCode":0')
  })
})
