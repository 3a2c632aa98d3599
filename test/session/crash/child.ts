// Runs sessions until all have ended, or kills itself in the middle. argv: one JSON of `CrashPlan`.
import { appendFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { ANYONE } from '../../../src/access/caller.ts'
import { followChildren } from '../../../src/service/sessions/session-tree.ts'
import { childId, openChildrenIn } from '../../../src/session/session.ts'
import { ENDED } from '../../../src/session/model.ts'
import { type Performer } from '../../../src/session/effects.ts'
import { SessionRunner } from '../../../src/session/runner.ts'
import { createDirectorySessionStore } from '../../../src/session/store/directory-session-store.ts'
import { createRedisSessionStore } from '../../../src/session/store/redis-session-store.ts'
import { type Appended, SessionStoreError } from '../../../src/session/store/session-store.ts'
import { changedStore } from '../changed-store.ts'
import { scripted, SCRIPTED } from '../script-engine.ts'
import { mayRepeat } from '../manual-performer.ts'
import { quietLog } from '../../helpers/quiet-log.ts'

/** What a process does before it is gone. */
export interface CrashPlan {
  /** A folder, or the URL of a Redis. */
  readonly place: string
  readonly keyPrefix: string
  readonly ids: readonly string[]
  readonly script: string
  /** The tools whose calls wait for a person, who allows each. @default none */
  readonly ask?: readonly string[]
  /** Where each effect that is done writes a line: session, effect, tool. */
  readonly done: string
  /** Whether the process kills itself, at its n-th append or effect, from 1. */
  readonly kill?: { readonly at: 'before' | 'after' | 'during', readonly n: number }
}

const plan = JSON.parse(process.argv[2] as string) as CrashPlan
const { ask = [] } = plan
const log = quietLog()
const real = plan.place.startsWith('redis:') ? createRedisSessionStore({ url: plan.place, keyPrefix: plan.keyPrefix, keep: 60_000, log }) : createDirectorySessionStore({ path: plan.place, keep: 60_000, log })
const counts = { before: 0, after: 0, during: 0 }

function mayDie (at: 'before' | 'after' | 'during'): void {
  if (++counts[at] === plan.kill?.n && at === plan.kill.at) process.kill(process.pid, 'SIGKILL')
}

const store = changedStore(real, {
  async append (append): Promise<Appended> {
    mayDie('before')
    const outcome = await real.append(append)
    mayDie('after')
    return outcome
  }
})

const performer: Performer = {
  async perform (session, effect, signal, publish) {
    const { id } = session
    if (effect.kind === 'child') return await startChild({ session, effect, caller: ANYONE, signal, activity: undefined, publish })
    const name = effect.kind === 'tool' ? effect.tool : effect.kind
    // It has begun in the world outside, and what it does comes a little later, beside that of others.
    await new Promise(setImmediate)
    appendFileSync(plan.done, `${id} ${effect.id} ${name}\n`)
    mayDie('during')
    return { kind: 'result', result: effect.id }
  },
  isRepeatable: mayRepeat
}

/** As the service does it: what a child starts with is its script. */
const startChild = followChildren(
  async ({ session: parent, effect }) => scripted(effect.input.text, {
    ask,
    parent: { session: parent.id, effect: effect.id, root: parent.id, depth: 1, line: [{ session: parent.id, definition: parent.start.definition }] }
  }),
  async work => await work({ store, runner })
)

/** As clients do that are answered 503: a machine with much to do connects late. */
async function patiently<T> (work: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await work()
    } catch (error) {
      if (!(error instanceof SessionStoreError)) throw error
      await delay(50)
    }
  }
}

/** Allows what waits in the children of a session, at the ids of the children. */
async function allowBelow (id: string): Promise<void> {
  const session = await runner.load(id)
  for (const { effect } of session === undefined ? [] : openChildrenIn(session)) {
    const child = await runner.load(childId(id, effect.id))
    for (const approval of child === undefined ? [] : runner.approvals(child)) {
      // The answer to the call before this one may have been lost with its process.
      await runner.decide(childId(id, effect.id), approval.effect, { by: 'bob', decision: 'approve' }).catch((error: Error) => { if (error instanceof SessionStoreError) throw error })
    }
  }
}

const runner: SessionRunner = new SessionRunner({ store, engines: SCRIPTED, performer, log, lease: 300 })
runner.open()
for (const id of plan.ids) await patiently(() => runner.start(id, scripted(plan.script, { ask })))
while (!(await patiently(() => Promise.all(plan.ids.map(id => real.head(id))))).every(head => head !== undefined && ENDED.has(head.status))) {
  for (const id of ask.length === 0 ? [] : plan.ids) await patiently(() => allowBelow(id))
  await delay(5)
}
await runner.close()
await store.close()
