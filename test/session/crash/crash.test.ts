import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import pLimit from 'p-limit'
import { createDirectorySessionStore } from '../../../src/session/store/directory-session-store.ts'
import { childId } from '../../../src/session/session.ts'
import { createRedisSessionStore } from '../../../src/session/store/redis-session-store.ts'
import { type SessionStore } from '../../../src/session/store/session-store.ts'
import { bundleProcess } from '../../helpers/bundle-process.ts'
import { startRedisServer, type RedisServer } from '../../helpers/redis-server.ts'
import { createTemporaryFolder, type TemporaryFolder } from '../../helpers/temporary-folder.ts'
import { newId, readAll } from '../runners.ts'
import { NO_LOG } from '../store/session-store-variants.ts'
import { type CrashPlan } from './child.ts'

/** Two sessions side by side. */
const SESSIONS = 2

type Moment = 'before' | 'after' | 'during'

/** What is killed. */
interface Scene {
  readonly title: string
  readonly script: string
  /** The tools whose calls wait for a person. */
  readonly ask?: readonly string[]
  /** The effects of a session in the order in which they are asked for, and whether they may be repeated. */
  readonly repeatable: readonly boolean[]
  /** Those of the session that the session starts. */
  readonly child?: readonly boolean[]
  /** How often each moment comes in a run that nobody kills: a session has its start, and an end of each effect. */
  readonly moments: Readonly<Record<Moment, number>>
}

/** Each with effects side by side, some of which may be repeated. */
const SCENES: readonly Scene[] = [
  { title: 'loses nothing and does nothing twice', script: 'work:1 read:1 ?m > work:2 work:3 > end', repeatable: [false, true, true, false, false], moments: { before: SESSIONS * 6, after: SESSIONS * 6, during: SESSIONS * 5 } },
  {
    title: 'starts no child twice, and none does anything twice',
    script: '?m > @work:1+read:1,work:2,end work:3 > end',
    repeatable: [true, true, false],
    child: [false, true, false],
    moments: { before: SESSIONS * 8, after: SESSIONS * 8, during: SESSIONS * 5 }
  },
  {
    title: 'leaves a child waiting for its person, and does what he allows at its id',
    script: '?m > @asked+read:1,end work:3 > end',
    ask: ['asked'],
    repeatable: [true, true, false],
    child: [true, false],
    moments: { before: SESSIONS * 8, after: SESSIONS * 8, during: SESSIONS * 4 }
  }
]

/** How many runs of each kind; those beyond one for each moment kill the second process, too. */
const RUNS = Number(process.env['CRASH_RUNS'] ?? 0)

/** Whether each moment has its run over either store, as in continuous integration; else over one of them. */
const IS_WHOLE = Number(process.env['PROPERTY_FACTOR'] ?? 1) >= 1

/** The folder of a killed process is free some seconds later, in which others have their turn. */
const SIDE_BY_SIDE = 17

const limit = pLimit(SIDE_BY_SIDE)

describe('A process that is killed', { concurrency: true }, () => {
  let folder: TemporaryFolder
  let redis: RedisServer
  let child: string
  let cases = 0

  before(async () => {
    folder = await createTemporaryFolder()
    redis = await startRedisServer()
    child = await bundleProcess(new URL('child.ts', import.meta.url), folder.path)
  })
  after(async () => {
    await redis.stop()
    await folder.remove()
  })

  /** Runs the sessions in a process; gives what ended it. */
  async function run (plan: CrashPlan): Promise<unknown> {
    const started = spawn(process.execPath, [child, JSON.stringify(plan)], { stdio: ['ignore', 'ignore', 'inherit'] })
    const [code, signal] = await once(started, 'exit') as [number | null, string | null]
    return signal ?? code
  }

  for (const [scene, place] of SCENES.flatMap(each => (['a folder', 'Redis'] as const).map(where => [each, where] as const))) {
    for (const at of ['before', 'after', 'during'] as const) {
      const what = at === 'during' ? 'while an effect is done' : `${at} an append`
      const count = Math.max(RUNS, scene.moments[at])
      const runs = Array.from({ length: count }, (_, index) => index).filter(index => IS_WHOLE || (index % 2 === 0) === (place === 'Redis'))
      it(`${what}, over ${place}, ${scene.title}, in ${runs.length} runs`, async () => {
        await Promise.all(runs.map(index => limit(async () => {
          const name = `case-${++cases}`
          const isFolder = place === 'a folder'
          const plan: CrashPlan = { place: isFolder ? join(folder.path, name) : redis.url, keyPrefix: `${name}:`, ids: Array.from({ length: SESSIONS }, () => newId()), script: scene.script, ask: scene.ask ?? [], done: join(folder.path, `${name}.done`) }
          const kills = killsOf(scene, at, index)
          assert.equal(await run({ ...plan, kill: kills[0] as typeof kills[0] & {} }), 'SIGKILL')
          // The second process has fewer moments left, and may end before it is killed.
          for (const kill of kills.slice(1)) await run({ ...plan, kill })
          assert.equal(await run(plan), 0)
          const store = isFolder ? createDirectorySessionStore({ path: plan.place, keep: 60_000, log: NO_LOG }) : createRedisSessionStore({ url: plan.place, keyPrefix: plan.keyPrefix, keep: 60_000, log: NO_LOG })
          try {
            const done = (await readFile(plan.done, 'utf8')).split('\n')
            for (const id of plan.ids) {
              await assertWhole(store, id, scene.repeatable, done, `${JSON.stringify(kills)}, ${name}`)
              if (scene.child === undefined) continue
              const children = await childrenIn(store, id)
              assert.equal(children.length, 1)
              for (const child of children) await assertWhole(store, child, scene.child, done, `the child; ${JSON.stringify(kills)}, ${name}`)
            }
          } finally {
            await store.close()
          }
        })))
      })
    }
  }
})

function killsOf ({ moments: counts }: Scene, at: Moment, index: number): ReadonlyArray<NonNullable<CrashPlan['kill']>> {
  const first = { at, n: index % counts[at] + 1 }
  const round = Math.floor(index / counts[at])
  const moments = Object.keys(counts) as Moment[]
  return round === 0 ? [first] : [first, { at: moments[(index + round) % 3] as Moment, n: round % 5 + 1 }]
}

/** The sessions that a session has started, however often each was begun. */
async function childrenIn (store: SessionStore, id: string): Promise<string[]> {
  const begun = (await readAll(store, id)).flatMap(transition => transition.begun).filter(({ kind }) => kind === 'child')
  return [...new Set(begun.map(({ id: effect }) => childId(id, effect)))]
}

/** @param done the lines of all effects that were done @param kills for the message */
async function assertWhole (store: SessionStore, id: string, repeatable: readonly boolean[], done: readonly string[], kills: string): Promise<void> {
  const log = await readAll(store, id)
  assert.deepEqual(log.map(({ seq }) => seq), log.map((_, index) => index + 1), kills)
  assert.equal((await store.head(id))?.status, 'completed', kills)
  const begun = [...new Set(log.flatMap(transition => transition.begun.map(({ id: effect }) => effect)))]
  assert.equal(begun.length, repeatable.length, kills)
  const children = new Set(log.flatMap(transition => transition.begun.flatMap(({ id: effect, kind }) => kind === 'child' ? [effect] : [])))
  for (const [n, effect] of begun.entries()) {
    const ends = log.flatMap(({ fact }) => 'effect' in fact && fact.effect === effect && fact.kind !== 'decided' ? [fact.kind] : [])
    // A child is another session, whose own effects are counted.
    const times = children.has(effect) ? 1 : done.filter(line => line.startsWith(`${id} ${effect} `)).length
    const isRight = ends.length === 1 && (repeatable[n] === true ? ends[0] === 'result' && times >= 1 : ends[0] === 'result' ? times === 1 : ends[0] === 'unknown' && times <= 1)
    assert.ok(isRight, `effect ${effect} of ${id} was done ${times} times and has ended with ${ends.join(', ')}; ${kills}`)
  }
}
