import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import pLimit from 'p-limit'
import { parseAgent } from '../../../src/registry/kinds/agent-kind.ts'
import { type Start } from '../../../src/session/model.ts'
import { createDirectorySessionStore } from '../../../src/session/store/directory-session-store.ts'
import { createRedisSessionStore } from '../../../src/session/store/redis-session-store.ts'
import { type SessionStore } from '../../../src/session/store/session-store.ts'
import { bundleProcess } from '../../helpers/bundle-process.ts'
import { startRedisServer, type RedisServer } from '../../helpers/redis-server.ts'
import { createTemporaryFolder, type TemporaryFolder } from '../../helpers/temporary-folder.ts'
import { newId, readAll } from '../runners.ts'
import { NO_LOG } from '../store/session-store-variants.ts'
import { type TalkPlan } from './talk-child.ts'

/** Each is answered with the help of one call; before the second, what was said is summed up. */
const QUESTIONS = ['first', 'second'].map(word => word.padEnd(3000, '.'))

/** An agent that streams its answers, and finds any dialogue too long. */
const AGENT = { language: 'en', ...parseAgent({ history: { turns: 4, compact: { above: 1000, keep: 1 } }, tools: [{ name: 'work', tool: 'work' }] }) }
const TOOLS = [{ name: 'work', tool: 'work', declaration: { type: 'function', function: { name: 'work', parameters: { type: 'object' } } } }]
const START = { engine: 'loop/1', definition: 'agents/talk', revision: '1', setting: { agent: AGENT, tools: TOOLS }, input: {}, owner: '', budget: { steps: 1000, tokens: 100_000, idle: 60_000 }, ask: [] } as unknown as Start

/** The folder of a killed process is free some seconds later, in which others have their turn. */
const SIDE_BY_SIDE = 17

/** Whether each moment has its run over either store; else over one of them. */
const IS_LONG = Number(process.env['CRASH_RUNS'] ?? 0) > 0

const limit = pLimit(SIDE_BY_SIDE)

type Line = { readonly type: 'llm.delta' | 'stdout', readonly effect?: string, readonly text: string } | { readonly type: 'llm.reset', readonly effect: string } | { readonly type: 'seq', readonly seq: number }

describe('A process that is killed while an agent streams its answers and sums up what was said', { concurrency: true }, () => {
  let folder: TemporaryFolder
  let redis: RedisServer
  let child: string
  let cases = 0

  before(async () => {
    folder = await createTemporaryFolder()
    redis = await startRedisServer()
    child = await bundleProcess(new URL('talk-child.ts', import.meta.url), folder.path)
  })
  after(async () => {
    await redis.stop()
    await folder.remove()
  })

  function planOf (place: 'a folder' | 'Redis'): TalkPlan {
    const name = `case-${++cases}`
    const at = (suffix: string): string => join(folder.path, `${name}.${suffix}`)
    return { place: place === 'a folder' ? join(folder.path, name) : redis.url, keyPrefix: `${name}:`, id: newId(), start: START, questions: QUESTIONS, done: at('done'), heard: at('heard'), counts: at('counts'), after: 0 }
  }

  /** Holds the dialogue in a process; gives what ended it. */
  async function run (plan: TalkPlan): Promise<unknown> {
    const after = (await linesOf(plan.heard)).reduce((last, line) => line.type === 'seq' ? line.seq : last, 0)
    const started = spawn(process.execPath, [child, JSON.stringify({ ...plan, after })], { stdio: ['ignore', 'ignore', 'inherit'], timeout: 120_000 })
    const [code, signal] = await once(started, 'exit') as [number | null, string | null]
    return signal ?? code
  }

  /** Reads what is left of a dialogue. */
  async function check (plan: TalkPlan, kill: string): Promise<string[]> {
    const store = plan.place.startsWith('redis:') ? createRedisSessionStore({ url: plan.place, keyPrefix: plan.keyPrefix, keep: 60_000, log: NO_LOG }) : createDirectorySessionStore({ path: plan.place, keep: 60_000, log: NO_LOG })
    try {
      await assertCalledOnce(store, plan, kill)
      return assertHeardOnce(await linesOf(plan.heard), kill)
    } finally {
      await store.close()
    }
  }

  for (const place of ['a folder', 'Redis'] as const) {
    for (const at of ['before', 'after', 'during'] as const) {
      it(`${at === 'during' ? 'while something is done' : `${at} an append`}, over ${place}, says nothing twice and calls nothing twice`, async () => {
        const whole = planOf(place)
        assert.equal(await run(whole), 0)
        assert.deepEqual(await check(whole, 'no kill'), ['I have read: done', 'I have read: done'])
        const counts = JSON.parse(await readFile(whole.counts, 'utf8')) as Readonly<Record<typeof at, number>>
        assert.ok(counts[at] >= 10, `there are ${counts[at]} such moments`)
        const moments = Array.from({ length: counts[at] }, (_, index) => index + 1).filter(n => IS_LONG || (n % 2 === 0) === (place === 'Redis'))
        await Promise.all(moments.map(n => limit(async () => {
          const plan = planOf(place)
          // How many moments there are depends on time: a lease may be renewed once less. Then nobody was killed.
          if (await run({ ...plan, kill: { at, n } }) === 'SIGKILL') assert.equal(await run(plan), 0)
          else assert.ok((JSON.parse(await readFile(plan.counts, 'utf8')) as typeof counts)[at] < n, `${at} ${n}: nobody was killed`)
          await check(plan, `${at} ${n}`)
        })))
      })
    }
  }
})

async function linesOf (path: string): Promise<Line[]> {
  return (await readFile(path, 'utf8').catch(() => '')).split('\n').filter(line => line !== '').map(line => JSON.parse(line) as Line)
}

/**
 * A reader has each answer once: what it was given live is the beginning of what it is given at the end, unless it was told to forget it.
 * @returns what it was given live of each answer
 */
function assertHeardOnce (lines: readonly Line[], kill: string): string[] {
  const [live, said] = [new Map<string, string>(), new Set<string>()]
  for (const line of lines) {
    if (line.type === 'seq' || line.effect === undefined) continue
    const { effect } = line
    assert.ok(!said.has(effect), `${effect} is told behind its end, or twice; ${kill}`)
    if (line.type === 'llm.reset') live.delete(effect)
    else if (line.type === 'llm.delta') live.set(effect, `${live.get(effect) ?? ''}${line.text}`)
    else {
      assert.ok(line.text.startsWith(live.get(effect) ?? ''), `"${live.get(effect) ?? ''}" was told of "${line.text}"; ${kill}`)
      said.add(effect)
    }
  }
  assert.equal(said.size, QUESTIONS.length, kill)
  return [...said].map(effect => live.get(effect) ?? '')
}

/** Each question is heard once, has one call, one answer, and its summary once; each effect has one end. */
async function assertCalledOnce (store: SessionStore, { id, done }: TalkPlan, kill: string): Promise<void> {
  const log = await readAll(store, id)
  assert.deepEqual(log.map(({ seq }) => seq), log.map((_, index) => index + 1), kill)
  assert.equal((await store.head(id))?.status, 'completed', kill)
  assert.deepEqual(log.flatMap(({ fact }) => fact.kind === 'input' ? [fact.text] : []), [...QUESTIONS, '/exit'], kill)
  const begun = new Map(log.flatMap(transition => transition.begun.filter(({ kind }) => kind !== 'wait').map(each => [each.id, each.kind === 'llm' ? String(each.subject?.['purpose']) : each.kind])))
  assert.deepEqual([...begun.values()], ['turn', 'tool', 'turn', 'compact', 'turn', 'tool', 'turn'], kill)
  const lines = (await readFile(done, 'utf8').catch(() => '')).split('\n')
  for (const [effect, what] of begun) {
    const ends = log.flatMap(({ fact }) => 'effect' in fact && fact.effect === effect ? [fact.kind] : [])
    assert.deepEqual(ends, [what === 'tool' && ends[0] === 'unknown' ? 'unknown' : 'result'], kill)
    const times = lines.filter(line => line.startsWith(`${effect} `)).length
    if (what === 'tool') assert.ok(ends[0] === 'result' ? times === 1 : times <= 1, `${effect} was called ${times} times; ${kill}`)
  }
}
