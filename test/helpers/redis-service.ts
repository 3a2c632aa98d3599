import { type TestContext } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { pino } from 'pino'
import { createApp } from '../../src/app.ts'
import { loadConfig } from '../../src/config/config.ts'
import { waitFor } from './wait-for.ts'

/** What `/readyz` answers. */
export interface Readiness {
  readonly status: 'ready' | 'stale' | 'loading'
  readonly generation: number
  readonly store: { readonly connected: boolean, readonly changes: 'pushed' | 'polled', readonly problem?: string, readonly heldNodes?: readonly string[] }
  readonly kinds: Readonly<Record<'extensions' | 'prompts' | 'environs' | 'tools', { readonly entries: number, readonly held: boolean }>>
}

/** The whole service over a Redis that gets hurt. */
export interface RedisService {
  /** The text that a prompt renders to. @throws Error with the reply, when it is not 200 */
  render (id: string): Promise<string>
  readiness (): Promise<Readiness>
  /** Waits until readiness says that the store can be read, and nothing is wrong with the connection. */
  ready (): Promise<void>
  /** Waits until readiness says that something is wrong; gives the reason. */
  hurt (): Promise<string>
  /** `POST /api/status/reload`. */
  reload (): Promise<void>
  /** Renders a prompt again and again until `stop`. @param id which holds all the time @param isGood whether a text is one that may be served */
  keepRendering (id: string, isGood: (text: string) => boolean): Renders
  /** Looks again and again how many entries of a kind there are, until `stop`; gives every count that it saw. */
  keepCounting (kind: keyof Readiness['kinds']): { stop (): Promise<readonly number[]> }
}

export interface Renders {
  /** Waits until so many more have ended. */
  more (count: number): Promise<void>
  /** Ends it; gives what every one that failed came to. */
  stop (): Promise<readonly string[]>
}

/** Starts the service in this process, closed after the test. It polls every 100 ms where changes are not pushed. */
export async function startRedisService (t: TestContext, redisUrl: string, environment: Readonly<Record<string, string>> = {}): Promise<RedisService> {
  const app = await createApp(loadConfig({ POLL_INTERVAL_MS: '100', RENDER_TIMEOUT_MS: '10000', REDIS_URL: redisUrl, ...environment }), pino({ level: 'silent' }))
  t.after(() => app.close())

  async function render (id: string): Promise<string> {
    const reply = await app.inject({ method: 'POST', url: `/api/render/prompts/${id}`, payload: {} })
    if (reply.statusCode !== 200) throw new Error(`${reply.statusCode} ${reply.body}`)
    return (reply.json() as { rendered_prompt: string }).rendered_prompt
  }

  async function readiness (): Promise<Readiness> {
    return (await app.inject('/readyz')).json()
  }

  return {
    render,
    readiness,
    async ready () {
      await waitFor('the store to be read', async () => {
        const { status, store } = await readiness()
        return status === 'ready' && store.connected
      }, 30_000)
    },
    hurt: () => waitFor('readiness to say what is wrong', async () => (await readiness()).store.problem),
    async reload () { await app.inject({ method: 'POST', url: '/api/status/reload' }) },
    keepRendering (id, isGood) {
      const failures: string[] = []
      let count = 0
      const { stop } = again(t, async () => {
        const text = await render(id).catch((error: Error) => `failed: ${error.message}`)
        if (!isGood(text)) failures.push(text)
        count++
      })
      return {
        async more (wanted) {
          const goal = count + wanted
          await waitFor(`${wanted} more renders`, () => count >= goal)
        },
        async stop () {
          await stop()
          return failures
        }
      }
    },
    keepCounting (kind) {
      const counts = new Set<number>()
      const { stop } = again(t, async () => { counts.add((await readiness()).kinds[kind].entries) })
      return {
        async stop () {
          await stop()
          return [...counts]
        }
      }
    }
  }
}

/** Does something again and again until `stop`, or the end of the test, and lets others have their turn. */
function again (t: TestContext, action: () => Promise<void>): { stop (): Promise<void> } {
  const stopped = new AbortController()
  t.after(() => stopped.abort())
  async function loop (): Promise<void> {
    while (!stopped.signal.aborted) {
      await action()
      await delay(2)
    }
  }
  const ended = loop()
  return {
    async stop () {
      stopped.abort()
      await ended
    }
  }
}
