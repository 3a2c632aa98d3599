import cluster, { type Worker } from 'node:cluster'
import { once } from 'node:events'
import { AggregatorRegistry } from 'prom-client'
import type { Log } from '../runtime/telemetry.ts'
import type { CollectedMetrics } from '../observe/metrics.ts'
import { MemoryUsage } from '../store/usage-store.ts'
import { memoryFlags } from './memory-flags.ts'
import type { FromWorker, ToWorker, UsageCall } from './worker-link.ts'

/** A counter must never fall, or Prometheus sees a restart: dead workers' counters stay, a late worker counts with its last numbers. */
export class Tallies<Worker> {
  readonly #latest = new Map<Worker, CollectedMetrics>()
  #past: Promise<CollectedMetrics> = Promise.resolve([])

  take (worker: Worker, metrics: CollectedMetrics): void {
    this.#latest.set(worker, metrics)
  }

  /** Keeps the counters and drops the gauges, which measured a process that is gone. */
  bury (worker: Worker): void {
    const latest = this.#latest.get(worker)
    this.#latest.delete(worker)
    if (latest === undefined) return
    const counters = latest.filter(({ type }) => (type as unknown) !== 'gauge')
    this.#past = this.#past.then(past => sumOf([past, counters]))
  }

  async beside (worker: Worker): Promise<readonly CollectedMetrics[]> {
    const others = [...this.#latest].filter(([each]) => each !== worker).map(([, metrics]) => metrics)
    const past = await this.#past
    return past.length === 0 ? others : [...others, past]
  }
}

async function sumOf (all: readonly CollectedMetrics[]): Promise<CollectedMetrics> {
  return await AggregatorRegistry.aggregate(all as object[]).getMetricsAsJSON()
}

/** Admits one participant at a time, in the order in which they asked. */
export class Mutex<T> {
  readonly #admit: (who: T) => void
  #line: readonly T[] = []

  constructor (admit: (who: T) => void) {
    this.#admit = admit
  }

  enter (who: T): void {
    this.#line = [...this.#line, who]
    if (this.#line.length === 1) this.#admit(who)
  }

  leave (who: T): void {
    const [first] = this.#line
    this.#line = this.#line.filter(each => each !== who)
    const [next] = this.#line
    if (first === who && next !== undefined) this.#admit(next)
  }
}

/** In ms; short, since Prometheus waits only 10 s for the whole answer. */
const PATIENCE = 2000

class Gathering {
  readonly #done: () => void
  readonly #timer: NodeJS.Timeout
  #missing: number

  constructor (expected: number, done: () => void) {
    this.#missing = expected
    this.#done = done
    this.#timer = setTimeout(done, expected === 0 ? 0 : PATIENCE)
  }

  take (): void {
    if (--this.#missing > 0) return
    clearTimeout(this.#timer)
    this.#done()
  }
}

export class WorkerError extends Error {
  override readonly name = 'WorkerError'
}

/** In ms: a worker that dies younger is replaced after this pause, so that repeated deaths take little CPU time. */
const SHORT_LIFE = 1000

interface PrimaryOptions {
  readonly count: number
  /** In ms; after that, stopped workers are killed. */
  readonly patience: number
  readonly log: Log
}

/** Listens on the port and keeps the workers running; it serves no request itself, and each worker is the whole service. */
export class Primary {
  readonly #options: PrimaryOptions
  readonly #gatherings = new Map<string, Gathering>()
  /** Without Redis, of all workers, so that budgets are not passed by each of them. */
  readonly #usage = new MemoryUsage()
  readonly #tallies = new Tallies<Worker>()
  readonly #writers = new Mutex<Worker>(worker => { send(worker, { kind: 'entered' }) })
  #stopping = false

  constructor (options: PrimaryOptions) {
    this.#options = options
  }

  /** @throws WorkerError when a worker ends before it listens; that worker has logged the reason */
  async start (): Promise<void> {
    const { count, log } = this.#options
    // Structured clones: histograms contain Infinity, which JSON does not have.
    cluster.setupPrimary({ serialization: 'advanced', execArgv: [...(cluster.settings.execArgv ?? process.execArgv), ...memoryFlags()] })
    cluster.on('message', (worker, message: FromWorker) => { this.#hear(worker, message) })
    await Promise.all(Array.from({ length: count }, async () => {
      const worker = cluster.fork()
      await this.#listening(worker)
      this.#replaceWhenDead(worker)
    }))
    if (!this.#stopping) log.info({ workers: count }, 'all workers listen')
  }

  /** `leave` fails readiness checks first. @throws WorkerError when a worker had to break off a request */
  async stop (leave: boolean): Promise<void> {
    this.#stopping = true
    const { patience } = this.#options
    const ends = await Promise.all(workers().map(async worker => {
      const killed = setTimeout(() => worker.process.kill('SIGKILL'), patience)
      const stop = () => { send(worker, { kind: 'stop', leave }) }
      stop()
      // A worker that does not read messages yet loses the first one; one that listens reads them.
      worker.once('listening', stop)
      if (!worker.isDead()) await once(worker, 'exit')
      clearTimeout(killed)
      return worker.process
    }))
    if (!ends.every(hasEndedInOrder)) throw new WorkerError('a worker did not end in good order')
  }

  #listening (worker: Worker): Promise<void> {
    return new Promise((resolve, reject) => {
      worker.once('listening', resolve)
      worker.once('exit', (code: number | null, signal: string | null) => {
        if (this.#stopping) resolve()
        else reject(new WorkerError(`a worker ended with ${signal === null ? `code ${code}` : signal} before it listened`))
      })
    })
  }

  #replaceWhenDead (worker: Worker): void {
    const born = performance.now()
    worker.once('exit', (code: number | null, signal: string | null) => {
      this.#writers.leave(worker)
      this.#tallies.bury(worker)
      if (this.#stopping) return
      this.#options.log.warn({ worker: worker.process.pid, code, signal }, 'a worker died and is replaced')
      const wait = performance.now() - born < SHORT_LIFE ? SHORT_LIFE : 0
      setTimeout(() => { if (!this.#stopping) this.#replaceWhenDead(cluster.fork()) }, wait)
    })
  }

  async #answerUsage ({ method, args }: UsageCall): Promise<unknown> {
    const answer = this.#usage[method].bind(this.#usage) as (...given: readonly unknown[]) => Promise<unknown>
    return await answer(...args)
  }

  #hear (worker: Worker, message: FromWorker): void {
    const others = workers().filter(each => each !== worker && each.isConnected())
    switch (message.kind) {
      case 'reload':
      case 'changed':
      case 'watched':
        for (const each of others) send(each, message)
        break
      case 'gather': {
        const { question } = message
        this.#tallies.take(worker, message.metrics)
        const name = `${worker.id} ${question}`
        this.#gatherings.set(name, new Gathering(others.length, () => {
          this.#gatherings.delete(name)
          void this.#tallies.beside(worker).then(metrics => { send(worker, { kind: 'gathered', question, metrics }) })
        }))
        for (const each of others) send(each, { kind: 'collect', asker: worker.id, question })
        break
      }
      case 'collected':
        this.#tallies.take(worker, message.metrics)
        this.#gatherings.get(`${message.asker} ${message.question}`)?.take()
        break
      case 'usage':
        void this.#answerUsage(message.call).then(result => { send(worker, { kind: 'counted', question: message.question, result }) })
        break
      case 'enter':
        this.#writers.enter(worker)
        break
      case 'leave':
        this.#writers.leave(worker)
    }
  }
}

/** SIGTERM and SIGINT count too: they end only a worker that was still loading its code. */
function hasEndedInOrder ({ exitCode, signalCode }: Worker['process']): boolean {
  return exitCode === 0 || signalCode === 'SIGTERM' || signalCode === 'SIGINT'
}

function workers (): Worker[] {
  return Object.values(cluster.workers ?? {}).filter(worker => worker !== undefined)
}

function send (worker: Worker, message: ToWorker): void {
  // A worker that dies now misses the message. The listener of its `exit` event handles its end.
  if (worker.isConnected()) worker.send(message, () => {})
}
