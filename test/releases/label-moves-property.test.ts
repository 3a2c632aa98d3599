import assert from 'node:assert/strict'
import { setImmediate as turn } from 'node:timers/promises'
import { describe } from 'node:test'
import fc from 'fast-check'
import { ANYONE, type Caller } from '../../src/access/caller.ts'
import { RightsWatch } from '../../src/access/rights.ts'
import { contentHash, type JsonObject } from '../../src/base/json.ts'
import { ENGINES } from '../../src/engine/engines.ts'
import { RELEASE } from '../../src/engine/release-key.ts'
import { type Generation, type Prompt } from '../../src/registry/generation.ts'
import { promptKind } from '../../src/registry/kinds/prompt-kind.ts'
import { type LabelMove, type LabelTarget, parseReleaseRecord, type ReleaseRecord, stringifyRecord } from '../../src/registry/kinds/release-record.ts'
import { LabelMoves } from '../../src/service/label-moves.ts'
import { PromptTests, type RunCase } from '../../src/service/prompt-tests.ts'
import { type Publisher } from '../../src/service/publish-entry.ts'
import { RecordStore } from '../../src/service/record-store.ts'
import { Releases } from '../../src/service/releases.ts'
import { decideApproval } from '../../src/service/sessions/approvals.ts'
import { createPerformer, type Performers } from '../../src/service/sessions/performer.ts'
import { SessionService } from '../../src/service/sessions/session-service.ts'
import { VersionReader } from '../../src/service/version-reader.ts'
import { startedAs } from '../../src/session/engine.ts'
import { SessionRunner } from '../../src/session/runner.ts'
import { UNSEALED } from '../../src/session/session-log.ts'
import { type Session } from '../../src/session/session.ts'
import { createMemorySessionStore } from '../../src/session/store/memory-session-store.ts'
import { type SessionStore } from '../../src/session/store/session-store.ts'
import { type Store } from '../../src/store/store.ts'
import { createMemoryStore, type MemoryStore } from '../helpers/memory-store.ts'
import { property } from '../helpers/property.ts'
import { SILENT } from '../session/runners.ts'

const RECORD = 'shenma:releases:a'
const TESTS = 'shenma:tests:a'

/** Its tests fail, so that only an admin lets the label mean it. */
const RED = 3

const PEOPLE = ['ann', 'ben', 'cid', 'dan'] as const
const people = fc.constantFrom(...PEOPLE)
const replica = fc.integer({ min: 0, max: 1 })
const target: fc.Arbitrary<LabelTarget | null> = fc.oneof(
  { weight: 5, arbitrary: fc.integer({ min: 1, max: RED }) },
  { weight: 1, arbitrary: fc.constant([{ version: 1, weight: 50 }, { version: 2, weight: 50 }]) },
  { weight: 1, arbitrary: fc.constant(null) }
)

const event = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('ask' as const), replica, by: people, to: target }) },
  { weight: 24, arbitrary: fc.record({ kind: fc.constant('answer' as const), which: fc.array(fc.nat({ max: 8 }), { minLength: 1, maxLength: 16 }) }) },
  { weight: 12, arbitrary: fc.record({ kind: fc.constant('agree' as const), replica, by: people, which: fc.nat({ max: 4 }) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('reject' as const), replica, by: people, which: fc.nat({ max: 4 }) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('override' as const), replica, to: target }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('again' as const), replica, which: fc.nat({ max: 4 }) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('redis-cli' as const), to: target }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('tests' as const), text: fc.constantFrom('a', 'b') }) }
)

/** Callers who wait for the store of the prompts, each answered when its turn is drawn. */
class Turns {
  readonly #waiting: Array<() => void> = []

  get count (): number {
    return this.#waiting.length
  }

  wait (): Promise<void> {
    return new Promise(resolve => this.#waiting.push(resolve))
  }

  answer (which: number): void {
    this.#waiting.splice(which % Math.max(1, this.#waiting.length), 1)[0]?.()
  }
}

/** Checks each write of the record against the one before it. */
class Watch {
  /** How often the label was moved when a move of this hash was its last one. */
  readonly #generations = new Map<string | null, number>([[null, 0]])
  readonly requested = new Set<string>()
  #generation = 0

  wrote (before: ReleaseRecord, after: ReleaseRecord, sessions: ReadonlyMap<string, Session>): void {
    const [was, is] = [before.labels.get('production') ?? null, after.labels.get('production') ?? null]
    if (JSON.stringify(was) === JSON.stringify(is)) return
    const move = after.moves[0] as LabelMove
    assert.equal(after.moves.length, before.moves.length + 1, 'each move is recorded')
    assert.deepEqual([move.from, move.to], [was, is], 'a move is recorded as it was')
    if (move.override === undefined) this.#looked(move, was, sessions)
    this.#generations.set(contentHash({ ...move } as unknown as JsonObject), ++this.#generation)
  }

  #looked ({ request = '', approvedBy = [], by, to }: LabelMove, was: LabelTarget | null, sessions: ReadonlyMap<string, Session>): void {
    const session = sessions.get(request)
    assert.notEqual(session, undefined, 'a move without a reason has a change request')
    const { change, approvals } = startedAs((session as Session).start, RELEASE).setting
    assert.equal(by, session?.start.owner)
    assert.equal(new Set(approvedBy).size, approvals, 'enough different people have agreed')
    assert.ok(!approvedBy.includes(by), 'the author has not agreed to it')
    assert.deepEqual(change.from, was, 'the label was where they saw it')
    assert.equal(this.#generations.get(change.since), this.#generation, 'it was not moved since')
    assert.deepEqual(change.to, to, 'it means what they agreed to')
    assert.ok(to === null || JSON.stringify(to) !== String(RED), 'its tests have passed')
    assert.ok(!this.requested.has(request), 'a change request moves it once')
    this.requested.add(request)
  }
}

describe('Random interleavings of people and two replicas that move a label', () => {
  property('move it only for enough others, who saw what it is, once for each request', 10_000, async given => {
    await import('../../src/files/change/diff.ts')
    const ends = { moved: 0, outdated: 0 }
    await given.comesToHold(fc.asyncProperty(fc.integer({ min: 1, max: 2 }), fc.array(event, { minLength: 20, maxLength: 70 }), async (approvals, events) => {
      const prompts = createMemoryStore(entries())
      const [log, turns, watch, known] = [createMemorySessionStore({ keep: 60_000 }), new Turns(), new Watch(), new Map<string, Session>()]
      const failures: unknown[] = []
      const replicas = [0, 1].map(() => openReplica(inTurns(prompts, turns, async (before, after) => { await guard(failures, () => { watch.wrote(before, after, known) }) }), log, approvals))
      for (const each of events) {
        if (each.kind === 'answer') for (const which of each.which) await (turns.answer(which), settled())
        else if (each.kind === 'redis-cli') await edit(prompts, each.to)
        else if (each.kind === 'tests') prompts.set(TESTS, testsOf(each.text))
        else void perform(replicas[each.replica] as Replica, each, known).catch((error: unknown) => { if (!isRefusal(error)) failures.push(error) })
        await settled()
      }
      for (let idle = 0; idle < 3; idle++) {
        if (turns.count > 0) idle = -1
        turns.answer(0)
        await settled()
      }
      assert.deepEqual(failures, [])
      for (const { id } of known.values()) {
        const session = await replicas[0]?.runner.load(id)
        assert.equal(session?.status === 'completed', watch.requested.has(id), `${id} says that it is done if it is: ${session?.status}`)
      }
      const outdated = await Promise.all([...known.keys()].map(async id => (await replicas[0]?.runner.load(id))?.engine.view.stateName === 'outdated'))
      ends.outdated += outdated.includes(true) ? 1 : 0
      ends.moved += watch.requested.size > 0 ? 1 : 0
      for (const { runner } of replicas) await runner.close()
      await Promise.all([log.close(), prompts.close()])
    }))
    given.wasOfUse(Math.min(given.runs, ends.moved), 0.12)
    given.wasOfUse(Math.min(given.runs, ends.outdated), 0.1)
  })
})

interface Replica { readonly moves: LabelMoves, readonly runner: SessionRunner }

const generation = {
  prompts: new Map(), releases: new Map(), tools: new Map(), definitions: new Map(), findRejected: () => undefined, number: 1, extensions: new Map()
} as unknown as Generation
const prompt = { state: 'valid', diagnostics: [] } as unknown as Prompt

function callerNamed (name: string): Caller {
  return { ...ANYONE, name }
}

function openReplica (store: Store, log: SessionStore, approvals: number): Replica {
  const [records, reader] = [new RecordStore(store, 'shenma:'), new VersionReader(store, 'shenma:', { prepare: () => { throw new Error('unused') } })]
  reader.read = async (_generation, _release, version) => ({ ...prompt, version })
  const rules = { isRecording: true, defaultLabel: '', looks: new Map([['production', { tests: true, approvals }]]), protectedLabels: new Set<string>() }
  const releases = new Releases({ store, keyPrefix: 'shenma:', registry: { follow: async () => {} }, records, versions: reader, publisher: {} as Publisher, rules, audit: () => {} })
  const runCase: RunCase = async ({ chosen: { version } }) => ({ pass: version !== RED, durationMs: 0, checks: [] })
  const moves = new LabelMoves({ releases, registry: { generation }, promptTests: new PromptTests(store, 'shenma:'), runCase, sessions: () => sessions })
  const rights = new RightsWatch()
  const performer = createPerformer({ performers: { tests: moves.runTests, move: moves.moveLabel } as unknown as Performers, tools: { isRepeatableTool: () => false }, callerNamed, rights, observer: undefined })
  const runner = new SessionRunner({ store: log, engines: ENGINES, performer, log: SILENT })
  const open = async () => ({ store: log, engines: ENGINES, seals: UNSEALED, runner })
  const sessions = new SessionService({ open, isAnyOpen: async () => false, storeProblem: () => undefined, close: async () => {}, rights, owners: () => PEOPLE })
  return { moves, runner }
}

type Act = Exclude<typeof event extends fc.Arbitrary<infer E> ? E : never, { kind: 'answer' | 'redis-cli' | 'tests' }>

async function perform ({ moves, runner }: Replica, act: Act, known: Map<string, Session>): Promise<void> {
  const change = (name: string) => ({ generation, caller: callerNamed(name), id: 'a', requestId: 'r' })
  if (act.kind === 'ask') {
    const asked = await moves.move(change(act.by), 'production', act.to, {})
    if ('engine' in asked) known.set(asked.id, asked)
    return
  }
  if (act.kind === 'override') {
    await moves.move(change('root'), 'production', act.to, {}, 'an emergency')
    return
  }
  const open = (await Promise.all([...known.keys()].map(async id => await runner.load(id)))).flatMap(session => {
    const [effect] = [...session?.open.values() ?? []].filter(each => each.effect.kind === 'move')
    return session === undefined || effect === undefined ? [] : [{ session, effect }]
  })
  const { session, effect } = open[act.which % Math.max(1, open.length)] ?? {}
  if (session === undefined || effect?.effect.kind !== 'move') return
  if (act.kind === 'again') {
    // As another replica does that takes it over while the first one still performs it.
    if (effect.phase === 'begun') await moves.moveLabel({ session, effect: effect.effect, caller: callerNamed(session.start.owner), signal: new AbortController().signal, activity: undefined, publish () {} })
    return
  }
  const [approval] = runner.approvals(session)
  if (approval === undefined) return
  const decision = act.kind === 'agree' ? 'approve' : 'reject'
  await decideApproval(runner, callerNamed(act.by), `${session.id}:${approval.effect}`, { decision, digest: approval.digest })
}

function isRefusal (error: unknown): boolean {
  return error instanceof Error && 'statusCode' in error && (error.statusCode as number) < 500
}

async function guard (failures: unknown[], check: () => void): Promise<void> {
  try {
    check()
  } catch (error) {
    failures.push(error)
  }
}

function inTurns (store: MemoryStore, turns: Turns, onWrite: (before: ReleaseRecord, after: ReleaseRecord) => Promise<void>): Store {
  return {
    ...store,
    async read (keys) {
      await turns.wait()
      return await store.read(keys)
    },
    async write (key, text, expected) {
      await turns.wait()
      const before = await recordOf(store)
      const outcome = await store.write(key, text, expected)
      if (key === RECORD && outcome === 'replaced') await onWrite(before, await recordOf(store))
      return outcome
    }
  }
}

/** A publisher that writes the store goes around all: no move is recorded, but what people saw is not so any more. */
async function edit (store: MemoryStore, to: LabelTarget | null): Promise<void> {
  const record = await recordOf(store)
  const others = [...record.labels].filter(([label]) => label !== 'production')
  store.set(RECORD, stringifyRecord({ ...record, labels: new Map(to === null ? others : [...others, ['production', to]]) }))
}

async function recordOf (store: MemoryStore): Promise<ReleaseRecord> {
  const [stored] = await store.read([RECORD])
  return parseReleaseRecord(JSON.parse(stored?.kind === 'text' ? stored.text : '{"next":1}') as JsonObject)
}

function testsOf (text: string): string {
  return JSON.stringify([{ assert: [{ type: 'contains', value: text }] }])
}

function entries (): ReadonlyArray<readonly [string, string]> {
  const texts = [1, 2, RED].map(n => [n, { userPrompt: `text ${n}` }] as const)
  const versions = texts.map(([n, entry]) => ({ n, tag: contentHash(promptKind.normalise(entry)), at: '2026-11-28T12:00:00.000Z', by: 'ann' }))
  return [
    [RECORD, JSON.stringify({ next: RED + 1, labels: { production: 1 }, versions, moves: [] })],
    [TESTS, testsOf('a')],
    ...texts.map(([n, entry]) => [`shenma:versions:a:${n}`, JSON.stringify({ entry })] as const)
  ]
}

async function settled (): Promise<void> {
  for (let times = 0; times < 2; times++) await turn()
}
