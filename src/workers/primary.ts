import { type Log } from '../base/log.ts'
import cluster, { type Worker } from 'node:cluster'
import { once } from 'node:events'
import { Gathering } from './gathering.ts'
import { memoryFlags } from './memory-flags.ts'
import { type FromWorker, type ToWorker } from './messages.ts'
import { Tallies } from './tallies.ts'
import { Mutex } from './mutex.ts'

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
