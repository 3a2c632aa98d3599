// Runs a dialogue of a free agent that streams its answers and sums up what was said, until it has ended, or kills itself in the
// middle. argv: one JSON of `TalkPlan`.
import { appendFileSync, writeFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { ANYONE } from '../../../src/access/caller.ts'
import { type JsonObject } from '../../../src/base/json.ts'
import { loopEngine } from '../../../src/engine/loop-engine.ts'
import { type Frame } from '../../../src/llm/frame.ts'
import { type CountedModels } from '../../../src/service/chat/models.ts'
import { askModelWith } from '../../../src/service/sessions/perform-model.ts'
import { startOf } from '../../../src/session/engine.ts'
import { followSession } from '../../../src/session/follow.ts'
import { ENDED, type Start } from '../../../src/session/model.ts'
import { type Performer } from '../../../src/session/effects.ts'
import { SessionRunner } from '../../../src/session/runner.ts'
import { createDirectorySessionStore } from '../../../src/session/store/directory-session-store.ts'
import { createRedisSessionStore } from '../../../src/session/store/redis-session-store.ts'
import { SessionStoreError } from '../../../src/session/store/session-store.ts'
import { quietLog } from '../../helpers/quiet-log.ts'
import { answerWith, callOf } from '../../engine/dialogue.ts'
import { changedStore } from '../changed-store.ts'
import { readAll } from '../store/session-appends.ts'
import { type CrashPlan } from './child.ts'

/** What a process does before it is gone. */
export interface TalkPlan extends Omit<CrashPlan, 'ids' | 'script'> {
  readonly id: string
  /** What the user says, in order; then the dialogue is ended. */
  readonly questions: readonly string[]
  readonly start: Start
  /** Where a reader of the dialogue writes what it is given, a line of JSON each, and behind which transition it begins. */
  readonly heard: string
  readonly after: number
  /** Where it is written at the end how often each moment has come. */
  readonly counts: string
}

const plan = JSON.parse(process.argv[2] as string) as TalkPlan
const { id, questions } = plan
const log = quietLog()
const real = plan.place.startsWith('redis:') ? createRedisSessionStore({ url: plan.place, keyPrefix: plan.keyPrefix, keep: 60_000, log }) : createDirectorySessionStore({ path: plan.place, keep: 60_000, log })
const counts = { before: 0, after: 0, during: 0 }

function mayDie (at: 'before' | 'after' | 'during'): void {
  if (++counts[at] === plan.kill?.n && at === plan.kill.at) process.kill(process.pid, 'SIGKILL')
}

let watching = (): void => {}
const watched = new Promise<void>(resolve => { watching = resolve })

const store = changedStore(real, {
  async watch (...given) {
    const stop = await real.watch(...given)
    watching()
    return stop
  },
  async append (append) {
    mayDie('before')
    const outcome = await real.append(append)
    mayDie('after')
    return outcome
  }
})

/** A model that calls the tool once for each question, then answers it in several parts. */
const models = {
  async ask ({ kind, request }: { readonly kind: string, readonly request: { readonly messages: readonly JsonObject[] } }) {
    await new Promise(setImmediate)
    mayDie('during')
    const last = request.messages.at(-1) ?? {}
    // A summary is asked for as a whole.
    if (kind === 'chat') return { value: answerWith({ content: 'They have talked.' }), usage: { inputTokens: 1, outputTokens: 1 } }
    const deltas = last['role'] === 'tool' ? partsOf(String(last['content'])) : [{ tool_calls: [{ index: 0, ...callOf('work', JSON.stringify({ question: last['content'] ?? '' })) }] }]
    return { frames: framesOf(deltas), counted: Promise.resolve({ usage: { inputTokens: 1, outputTokens: 1, isEstimate: false }, cost: undefined }) }
  }
} as unknown as CountedModels

function partsOf (result: string): JsonObject[] {
  return ['I ', 'have ', 'read: ', result].map(content => ({ content }))
}

/** So far apart that each part is told by itself. */
async function * framesOf (deltas: readonly JsonObject[]): AsyncGenerator<readonly Frame[]> {
  for (const delta of deltas) {
    const chunk = { choices: [{ index: 0, delta }] }
    yield [{ kind: 'chunk', chunk, data: JSON.stringify(chunk), bytes: Buffer.alloc(0) }]
    await delay(20)
    mayDie('during')
  }
  yield [{ kind: 'done', bytes: Buffer.alloc(0) }]
}

const askModel = askModelWith(models)
const performer: Performer = {
  async perform (session, effect, signal, publish) {
    if (effect.kind === 'llm') return await askModel({ session, effect, signal, publish, caller: ANYONE, activity: undefined })
    await new Promise(setImmediate)
    if (effect.kind === 'tool') appendFileSync(plan.done, `${effect.id} ${JSON.stringify(effect.arguments)}\n`)
    mayDie('during')
    return { kind: 'result', result: 'done' }
  },
  isRepeatable: ({ kind }) => kind === 'llm'
}

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

/** A reader that goes on behind what the one before it was given. */
async function listen (): Promise<void> {
  for await (const followed of followSession(store, id, plan.after, new AbortController().signal)) {
    const lines = 'live' in followed ? [followed.live] : followed.transition.notices.flatMap(({ type, data }) => type === 'stdout' ? [{ type, ...data }] : [])
    const seq = 'transition' in followed ? [{ type: 'seq', seq: followed.transition.seq }] : []
    for (const line of [...lines, ...seq]) appendFileSync(plan.heard, `${JSON.stringify(line)}\n`)
  }
}

const runner = new SessionRunner({ store, engines: new Map([[loopEngine.name, startOf(loopEngine)]]), performer, log, lease: 300 })
if (await patiently(() => real.head(id)) === undefined) await patiently(() => runner.start(id, plan.start))
const listening = listen()
// What is said live before it watches is lost.
await watched
runner.open()
for (;;) {
  const session = await patiently(() => runner.load(id))
  if (session === undefined || ENDED.has(session.status)) break
  if (session.status === 'waiting_input') {
    const said = (await patiently(() => readAll(real, id))).filter(({ fact }) => fact.kind === 'input').length
    await patiently(() => runner.input(id, { id: `i${said}`, by: '', text: questions[said] ?? '/exit' }))
  }
  await delay(5)
}
await listening
writeFileSync(plan.counts, JSON.stringify(counts))
await runner.close()
await store.close()
