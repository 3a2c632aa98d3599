import assert from 'node:assert/strict'
import { after, before, describe } from 'node:test'
import fc from 'fast-check'
import { type LogPosition } from '../../../src/session/model.ts'
import { type Append, type SessionStore } from '../../../src/session/store/session-store.ts'
import { appendOf, newId, positionOf, readAll } from './session-appends.ts'
import { KEEP_MS, VARIANTS, type SessionStoreFixture } from './session-store-variants.ts'
import { property } from '../../helpers/property.ts'

/** What a session is, in the plainest words. */
interface ModelSession {
  readonly tokens: string[]
  driver: string | undefined
  due: number | undefined
  /** Both as the last append has left them: leases end with a store that only one process has. */
  appended: { readonly driver: string | undefined, readonly due: number | undefined }
  ended: number | undefined
}

interface Model {
  now: number
  readonly sessions: Map<string, ModelSession>
}

/** A replica: what it believes to be the top of each session, and what it sent last. */
interface Client {
  readonly name: string
  tops: Map<string, LogPosition>
  sent: Append | undefined
}

interface Real {
  readonly fixture: SessionStoreFixture
  readonly ids: readonly string[]
  readonly clients: readonly Client[]
}

type Command = fc.AsyncCommand<Model, Real>

/** A unit of time, in ms: so long that what a run takes by Redis' own clock is nothing. */
const UNIT = 1_000_000

const SESSIONS = 3
const CLIENTS = 3

function command (text: string, run: (model: Model, real: Real) => Promise<void>): Command {
  return { check: () => true, run, toString: () => text }
}

function storeOf ({ fixture }: Real, client: number): SessionStore {
  return client === 0 ? fixture.store : fixture.another()
}

/** What the model says of an append, and does with it. */
function appendToModel (model: Model, { id, after, transition, due, head }: Append): 'ok' | 'again' | { top: LogPosition | undefined } {
  const session = model.sessions.get(id) ?? { tokens: [], driver: undefined, due: undefined, appended: { driver: undefined, due: undefined }, ended: undefined }
  const { tokens } = session
  const token = tokens.at(-1)
  if (tokens.length !== (after?.seq ?? 0) || token !== after?.token) {
    return tokens[transition.seq - 1] === transition.token ? 'again' : { top: token === undefined ? undefined : { seq: tokens.length, token } }
  }
  model.sessions.set(id, session)
  tokens.push(transition.token)
  session.ended = head.status === 'completed' ? model.now : undefined
  if (due !== 'keep') {
    session.driver = due === 'never' ? undefined : head.driver
    session.due = due === 'never' ? undefined : model.now + due
  }
  session.appended = { driver: session.driver, due: session.due }
  return 'ok'
}

async function sendAppend (model: Model, real: Real, client: number, one: Append): Promise<void> {
  const expected = appendToModel(model, one)
  assert.deepEqual(await storeOf(real, client).append(one), expected)
  const { tops } = real.clients[client] as Client
  if (expected === 'ok') tops.set(one.id, positionOf(one))
  else if (expected !== 'again' && expected.top !== undefined) tops.set(one.id, expected.top)
}

/** Appends behind what the client believes to be the top. */
const append = fc.record({
  client: fc.nat(CLIENTS - 1),
  session: fc.nat(SESSIONS - 1),
  due: fc.oneof(fc.nat(3).map(units => units * UNIT), fc.constantFrom('keep' as const, 'never' as const)),
  drives: fc.boolean()
}).map(({ client, session, due, drives }) => command(`append(${client}, ${session}, ${due}, ${drives})`, async (model, real) => {
  const { name, tops } = real.clients[client] as Client
  const id = real.ids[session] as string
  const one = appendOf(id, tops.get(id), { due, driver: drives ? name : undefined, status: due === 'never' ? 'completed' : 'running', createdAt: session })
  ;(real.clients[client] as Client).sent = one
  await sendAppend(model, real, client, one)
}))

/** Sends the last append once more, as after a lost reply, through any client's connection. */
const resend = fc.tuple(fc.nat(CLIENTS - 1), fc.nat(CLIENTS - 1)).map(([client, through]) => command(`resend(${client}, ${through})`, async (model, real) => {
  const { sent } = real.clients[client] as Client
  if (sent !== undefined) await sendAppend(model, real, through, sent)
}))

/** All clients append at once behind the true top: one wins. */
const race = fc.nat(SESSIONS - 1).map(session => command(`race(${session})`, async (model, real) => {
  const id = real.ids[session] as string
  const tokens = model.sessions.get(id)?.tokens ?? []
  const top = tokens.length === 0 ? undefined : { seq: tokens.length, token: tokens.at(-1) as string }
  const appends = real.clients.map(({ name }) => appendOf(id, top, { due: UNIT, driver: name, createdAt: session }))
  const outcomes = await Promise.all(appends.map((one, client) => storeOf(real, client).append(one)))
  const winner = appends[outcomes.indexOf('ok')]
  assert.ok(winner !== undefined, 'one wins')
  appendToModel(model, winner)
  assert.deepEqual(outcomes.filter(outcome => outcome !== 'ok'), Array(CLIENTS - 1).fill({ top: positionOf(winner) }))
}))

const take = fc.record({ client: fc.nat(CLIENTS - 1), limit: fc.integer({ min: 1, max: 4 }), lease: fc.integer({ min: 1, max: 3 }) })
  .map(({ client, limit, lease }) => command(`take(${client}, ${limit}, ${lease})`, async (model, real) => {
    const { name } = real.clients[client] as Client
    const { ids, next } = await storeOf(real, client).take(name, limit, lease * UNIT)
    const due = [...model.sessions].filter(([, session]) => session.due !== undefined && session.due <= model.now).map(([id]) => id)
    // Which of them, nobody promises; that none is forgotten, the store does.
    assert.equal(ids.length, Math.min(limit, due.length))
    assert.ok(ids.every(id => due.includes(id)) && new Set(ids).size === ids.length)
    for (const id of ids) Object.assign(model.sessions.get(id) as ModelSession, { driver: name, due: model.now + lease * UNIT })
    const dues = [...model.sessions.values()].flatMap(session => session.due ?? [])
    assertNear(next, dues.length === 0 ? undefined : Math.max(0, Math.min(...dues) - model.now))
  }))

const renew = fc.record({ client: fc.nat(CLIENTS - 1), lease: fc.integer({ min: 1, max: 3 }) }).map(({ client, lease }) => command(`renew(${client}, ${lease})`, async (model, real) => {
  const { name } = real.clients[client] as Client
  const expected = real.ids.flatMap(id => {
    const session = model.sessions.get(id)
    if (session === undefined) return []
    const isYours = session.driver === name
    if (isYours) session.due = model.now + lease * UNIT
    return [{ id, seq: session.tokens.length, isYours }]
  })
  assert.deepEqual(await storeOf(real, client).renew(name, real.ids, lease * UNIT), expected)
}))

/** Time goes on; what has ended long ago is forgotten. */
async function goOn (model: Model, fixture: SessionStoreFixture, ms: number): Promise<void> {
  model.now += ms
  await fixture.step(ms)
  for (const [id, { ended }] of model.sessions) if (ended !== undefined && ended + KEEP_MS <= model.now) model.sessions.delete(id)
}

const step = fc.integer({ min: 1, max: 2 }).map(units => command(`step(${units})`, (model, { fixture }) => goOn(model, fixture, units * UNIT)))

/** A client forgets all that it knew, and reads the logs again. */
const crash = fc.nat(CLIENTS - 1).map(client => command(`crash(${client})`, async (_model, real) => {
  const tops = new Map<string, LogPosition>()
  for (const id of real.ids) {
    const last = (await readAll(storeOf(real, client), id)).at(-1)
    if (last !== undefined) tops.set(id, { seq: last.seq, token: last.token })
  }
  Object.assign(real.clients[client] as Client, { tops, sent: undefined })
}))

/** The process ends that has the store to itself, and another one begins. */
const restart = fc.constant(command('restart()', async (model, { fixture }) => {
  await fixture.restart?.()
  for (const session of model.sessions.values()) {
    Object.assign(session, session.appended)
    // Nobody else has the store, so whoever drove a session is gone.
    if (session.driver !== undefined) session.due = model.now
  }
}))

/** Every log as the model has it: each number once, without a gap. */
const look = fc.constant(command('look()', async (model, real) => {
  await assertAsModel(model, real)
}))

async function assertAsModel (model: Model, { fixture, ids }: Real): Promise<void> {
  for (const id of ids) {
    const session = model.sessions.get(id)
    const log = await readAll(fixture.store, id)
    assert.deepEqual(log.map(({ seq, token }) => [seq, token]), (session?.tokens ?? []).map((token, index) => [index + 1, token]))
    const head = await fixture.store.head(id)
    assert.deepEqual([head?.seq, head?.token, head?.driver], session === undefined ? [undefined, undefined, undefined] : [session.tokens.length, session.tokens.at(-1), session.driver])
  }
  const { heads } = await fixture.store.list({ limit: SESSIONS })
  assert.deepEqual(heads.map(({ id }) => id), ids.filter(id => model.sessions.has(id)).reverse())
}

/** In memory to the millisecond; Redis' clock goes on by itself. */
function assertNear (actual: number | undefined, expected: number | undefined): void {
  if (expected === undefined || actual === undefined) return assert.equal(actual, expected)
  assert.ok(Math.abs(actual - expected) < UNIT / 10, `${actual} is not about ${expected}`)
}

for (const { title, open } of VARIANTS.filter(({ title }) => ['memory', 'directory', 'redis'].includes(title))) {
  describe(`session store against a plain model: ${title}`, () => {
    let fixture: SessionStoreFixture
    before(async () => { fixture = await open() })
    after(() => fixture.remove())

    const runs = { memory: 500, directory: 60, redis: 60 }[title] as number
    property('has one writer for each number, no gap, and forgets nothing that is due', runs, async given => {
      const commands = fc.commands([append, append, resend, race, take, renew, step, crash, look, ...fixture.restart === undefined ? [] : [restart]], { maxCommands: 40 })
      await given.comesToHold(fc.asyncProperty(commands, async sequence => {
        await fixture.clear()
        const real: Real = {
          fixture,
          ids: Array.from({ length: SESSIONS }, () => newId()),
          clients: Array.from({ length: CLIENTS }, (_, index) => ({ name: `replica-${index}`, tops: new Map(), sent: undefined }))
        }
        const model: Model = { now: 0, sessions: new Map() }
        await fc.asyncModelRun(() => ({ model, real }), sequence)
        await assertAsModel(model, real)
        // Whatever happened: each session that is due some time is taken in the end, and no other.
        await goOn(model, fixture, 10 * UNIT)
        const { ids } = await fixture.store.take('last', SESSIONS, UNIT)
        assert.deepEqual(ids.toSorted(), [...model.sessions].filter(([, session]) => session.due !== undefined).map(([id]) => id).sort())
      }))
    })
  })
}
