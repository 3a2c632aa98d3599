import cluster, { type Worker } from 'node:cluster'
import { once } from 'node:events'
import { AggregatorRegistry } from 'prom-client'
import type { Log } from '../runtime/telemetry.ts'
import type { CollectedMetrics } from '../observe/metrics.ts'
import { memoryFlags } from './memory-flags.ts'
import type { FromWorker, ToWorker } from './worker-link.ts'

/**
 * The latest metrics of each worker. A counter that Prometheus reads must never fall, or Prometheus concludes that the process was restarted. So
 * the counters of a dead worker are kept, and a worker that does not answer in time counts with its previous numbers.
 */
export class Tallies<Worker> {
  readonly #latest = new Map<Worker, CollectedMetrics>()
  #past: Promise<CollectedMetrics> = Promise.resolve([])

  take (worker: Worker, metrics: CollectedMetrics): void {
    this.#latest.set(worker, metrics)
  }

  /** Removes a worker that has died. Its counters are kept; its gauges are dropped, as they measured a process that is gone. */
  bury (worker: Worker): void {
    const latest = this.#latest.get(worker)
    this.#latest.delete(worker)
    if (latest === undefined) return
    const counters = latest.filter(({ type }) => (type as unknown) !== 'gauge')
    this.#past = this.#past.then(past => sumOf([past, counters]))
  }

  /** Gives the metrics of all workers but `worker`, including workers that have died. */
  async beside (worker: Worker): Promise<readonly CollectedMetrics[]> {
    const others = [...this.#latest].filter(([each]) => each !== worker).map(([, metrics]) => metrics)
    const past = await this.#past
    return past.length === 0 ? others : [...others, past]
  }
}

async function sumOf (all: readonly CollectedMetrics[]): Promise<CollectedMetrics> {
  return await AggregatorRegistry.aggregate(all as object[]).getMetricsAsJSON()
}

/** A queue for a task that only one participant at a time is allowed to do. Participants are admitted in the order in which they asked. */
export class Mutex<T> {
  readonly #admit: (who: T) => void
  /** The participants in order. The first one has its turn now; the others wait. */
  #line: readonly T[] = []

  /** Makes an empty queue. @param admit called with the participant whose turn has come */
  constructor (admit: (who: T) => void) {
    this.#admit = admit
  }

  enter (who: T): void {
    this.#line = [...this.#line, who]
    if (this.#line.length === 1) this.#admit(who)
  }

  /** Ends the turn of `who`, or removes `who` from the queue; does nothing if `who` is not in the queue. */
  leave (who: T): void {
    const [first] = this.#line
    this.#line = this.#line.filter(each => each !== who)
    const [next] = this.#line
    if (first === who && next !== undefined) this.#admit(next)
  }
}

/** The longest wait for the metrics of all worker processes, in ms. It is short, since Prometheus waits only 10 s for the whole answer. */
const PATIENCE = 2000

/** Waits for the answers of several workers to one question. The wait is over when all have answered, or after `PATIENCE` ms. */
class Gathering {
  readonly #done: () => void
  readonly #timer: NodeJS.Timeout
  #missing: number

  /** Begins to wait for the answers. @param expected how many workers were asked @param done called once, when the wait is over */
  constructor (expected: number, done: () => void) {
    this.#missing = expected
    this.#done = done
    this.#timer = setTimeout(done, expected === 0 ? 0 : PATIENCE)
  }

  /** Notes the answer of one worker. */
  take (): void {
    if (--this.#missing > 0) return
    clearTimeout(this.#timer)
    this.#done()
  }
}

/** The error when a worker process ended before it served requests, or did not stop properly. */
export class WorkerError extends Error {
  override readonly name = 'WorkerError'
}

/**
 * When a worker dies younger than this, in ms, the primary process waits this long before it starts another worker. So workers that die again and
 * again take little CPU time.
 */
const SHORT_LIFE = 1000

export interface PrimaryOptions {
  /** The number of worker processes. */
  readonly count: number
  /** The longest time that stopped workers get to finish their requests, in ms. After that they are killed. */
  readonly patience: number
  readonly log: Log
}

/**
 * The primary process, which listens on the port and keeps the worker processes running. It serves no request itself; each worker is the
 * whole service, over the same store.
 */
export class Primary {
  readonly #options: PrimaryOptions
  readonly #gatherings = new Map<string, Gathering>()
  readonly #tallies = new Tallies<Worker>()
  readonly #writers = new Mutex<Worker>(worker => { send(worker, { kind: 'entered' }) })
  #stopping = false

  constructor (options: PrimaryOptions) {
    this.#options = options
  }

  /**
   * Starts the workers. A worker that has listened and then dies is replaced.
   * @throws WorkerError when a worker ends before it listens; that worker has logged the reason
   */
  async start (): Promise<void> {
    const { count, log } = this.#options
    // Messages are sent as structured clones rather than JSON: the histograms in them contain Infinity, which JSON does not have.
    cluster.setupPrimary({ serialization: 'advanced', execArgv: [...(cluster.settings.execArgv ?? process.execArgv), ...memoryFlags()] })
    cluster.on('message', (worker, message: FromWorker) => { this.#hear(worker, message) })
    await Promise.all(Array.from({ length: count }, async () => {
      const worker = cluster.fork()
      await this.#listening(worker)
      this.#replaceWhenDead(worker)
    }))
    if (!this.#stopping) log.info({ workers: count }, 'all workers listen')
  }

  /**
   * Stops all workers, each of which finishes its requests first.
   * @param leave whether load balancers are told first, by failing readiness checks
   * @throws WorkerError when a worker had to break off a request
   */
  async stop (leave: boolean): Promise<void> {
    this.#stopping = true
    const { patience } = this.#options
    const ends = await Promise.all(workers().map(async worker => {
      const killed = setTimeout(() => worker.process.kill('SIGKILL'), patience)
      const stop = () => { send(worker, { kind: 'stop', leave }) }
      stop()
      // The first message is lost when the worker does not read messages yet. A worker that listens on the port reads them, so the message is sent
      // again at that moment.
      worker.once('listening', stop)
      if (!worker.isDead()) await once(worker, 'exit')
      clearTimeout(killed)
      return worker.process
    }))
    if (!ends.every(hasEndedInOrder)) throw new WorkerError('a worker did not end in good order')
  }

  /** Waits until a worker listens on the port. A worker that dies before that is an error, unless all workers were told to stop. */
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
      case 'enter':
        this.#writers.enter(worker)
        break
      case 'leave':
        this.#writers.leave(worker)
    }
  }
}

/**
 * Whether a worker has stopped properly. A worker that SIGTERM or SIGINT ended counts too: it was still loading its code, and had neither a handler
 * for the signal nor requests.
 */
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
