import { fork } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { type Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { Pool } from 'undici'
import { type Vitals } from './monitor.ts'

/** The built service as a process of its own, with a monitor in it. */
export interface BenchService {
  /** From the start of the process until it answered as ready, in ms. */
  readonly readyAfter: number
  /** Renders a prompt without variables. */
  render (id: string): Promise<string>
  vitals (): Promise<Vitals>
  /** The longest time for which the reading of the store kept the event loop, in ms; ask before anything else is asked. */
  longestBlockOfLoading (): Promise<number>
  /** Memory now and at most so far, in MB. */
  memory (): { readonly resident: number, readonly peak: number }
  stop (): Promise<void>
}

/** Starts the service over a Redis and waits until it is ready. */
export async function startService (redisUrl: string): Promise<BenchService> {
  const started = performance.now()
  const child = fork('dist/main.js', {
    execArgv: ['--import', fileURLToPath(new URL('monitor.js', import.meta.url))],
    env: { PATH: process.env['PATH'], NODE_ENV: 'production', PORT: '0', LOG_LEVEL: 'info', REDIS_URL: redisUrl },
    stdio: ['ignore', 'pipe', 'inherit', 'ipc']
  })
  let [begun, done] = [NaN, NaN]
  const origin = await new Promise<string>((resolve, reject) => {
    createInterface({ input: child.stdout as Readable }).on('line', line => {
      const { msg, time } = JSON.parse(line) as { msg: string, time: number }
      if (msg === 'changes are pushed') begun = time
      if (msg === 'registry published' && Number.isNaN(done)) done = time
      const found = /Server listening at (http:\/\/[\d.]+:\d+)/.exec(line)?.[1]
      if (found !== undefined) resolve(found)
    })
    child.once('exit', code => { reject(new Error(`the service ended with ${code}`)) })
  })
  async function vitals (): Promise<Vitals> {
    child.send('vitals')
    const [answer] = await once(child, 'message') as [Vitals]
    return answer
  }
  const pool = new Pool(origin, { connections: 8 })
  for (;;) {
    const { statusCode, body } = await pool.request({ method: 'GET', path: '/readyz' })
    await body.dump()
    if (statusCode === 200) break
  }
  return {
    readyAfter: performance.now() - started,
    async render (id) {
      const { statusCode, body } = await pool.request({ method: 'POST', path: `/api/render/prompts/${id}`, headers: { 'content-type': 'application/json' }, body: '{}' })
      const text = await body.text()
      if (statusCode !== 200) throw new Error(`render ${id}: ${statusCode} ${text}`)
      return text
    },
    vitals,
    async longestBlockOfLoading () {
      const { blocks } = await vitals()
      const loading = blocks.filter(({ endedAt, milliseconds }) => endedAt - milliseconds >= begun && endedAt <= done)
      return Math.max(0, ...loading.map(({ milliseconds }) => milliseconds))
    },
    memory () {
      const status = readFileSync(`/proc/${child.pid}/status`, 'utf8')
      const megabytes = (field: string) => Number(new RegExp(`^${field}:\\s+(\\d+)`, 'm').exec(status)?.[1]) * 1024 / 1e6
      return { resident: megabytes('VmRSS'), peak: megabytes('VmHWM') }
    },
    async stop () {
      await pool.close()
      child.kill('SIGKILL')
    }
  }
}
