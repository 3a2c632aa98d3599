import type { CollectedMetrics } from '../observe/metrics.ts'

/** The longest wait of a worker for the answer of the primary process, in ms. The primary process itself waits up to 2 s for the other workers. */
const PATIENCE = 3000

/** A worker's end of the channel to the primary process, through which it reaches its siblings (the other workers). */
export class WorkerLink implements Siblings {
  /** Resolves when the primary process asks this worker to stop, or has died itself. */
  readonly stopped: Promise<{ readonly leave: boolean }>
  readonly #questions = new Map<number, (metrics: readonly CollectedMetrics[]) => void>()
  #asked = 0
  #enter = () => {}
  #duties: SiblingDuties | undefined

  constructor () {
    // A worker ignores signals: whoever stops the service signals the primary process, and often all processes of its group, too. Only the primary
    // process tells workers to stop, so that no worker is stopped twice, which would break off its requests.
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => {})
    this.stopped = new Promise(resolve => {
      process.on('disconnect', () => resolve({ leave: false }))
      process.on('message', (message: ToWorker) => {
        if (message.kind === 'stop') resolve(message)
        else this.#hear(message)
      })
    })
  }

  attend (duties: SiblingDuties): void {
    this.#duties = duties
  }

  metrics (own: CollectedMetrics): Promise<readonly CollectedMetrics[]> {
    const question = ++this.#asked
    return new Promise(resolve => {
      const answer = (metrics: readonly CollectedMetrics[]): void => {
        clearTimeout(timer)
        this.#questions.delete(question)
        resolve(metrics)
      }
      // If the primary process is too busy or gone, the answer has no metrics of other workers.
      const timer = setTimeout(answer, PATIENCE, [])
      this.#questions.set(question, answer)
      send({ kind: 'gather', question, metrics: own })
    })
  }

  reload (): void {
    send({ kind: 'reload' })
  }

  changed (keys: readonly string[]): void {
    send({ kind: 'changed', keys })
  }

  watched (): void {
    send({ kind: 'watched' })
  }

  async inTurn<T> (work: () => Promise<T>): Promise<T> {
    await new Promise<void>(resolve => {
      this.#enter = resolve
      send({ kind: 'enter' })
    })
    try {
      return await work()
    } finally {
      send({ kind: 'leave' })
    }
  }

  #hear (message: Exclude<ToWorker, { kind: 'stop' }>): void {
    switch (message.kind) {
      case 'gathered':
        this.#questions.get(message.question)?.(message.metrics)
        break
      case 'collect':
        void this.#collect(message)
        break
      case 'reload':
        // An error needs no handling here: the registry reports it.
        this.#duties?.reload().catch(() => {})
        break
      case 'changed':
        this.#duties?.follow(message.keys).catch(() => {})
        break
      case 'watched':
        this.#duties?.watched()
        break
      case 'entered':
        this.#enter()
    }
  }

  async #collect ({ asker, question }: Extract<ToWorker, { kind: 'collect' }>): Promise<void> {
    send({ kind: 'collected', asker, question, metrics: await this.#duties?.collectMetrics() ?? [] })
  }
}

function send (message: FromWorker): void {
  if (process.connected) process.send?.(message)
}

/** The functions of a worker process that its siblings (the other workers of the service) can ask it to call. */
interface SiblingDuties {
  /** Gives the metrics of this process. */
  collectMetrics (): Promise<CollectedMetrics>
  /** Reads the store now, rather than at the next poll. */
  reload (): Promise<void>
  /** Reads the keys that another process has written or removed. */
  follow (keys: readonly string[]): Promise<void>
  /** Notes that a load balancer has checked the readiness of the service, at another worker. */
  watched (): void
}

/** The other worker processes of the same service: what one worker can ask of them. */
export interface Siblings {
  /** Sets the functions that this process calls when messages of the other workers ask for them. */
  attend (duties: SiblingDuties): void
  /** Collects the metrics of the other workers, also of those that have died. @param own the metrics of this worker, kept in case this worker dies */
  metrics (own: CollectedMetrics): Promise<readonly CollectedMetrics[]>
  /** Makes all other workers read the store now. */
  reload (): void
  /** Tells all other workers which keys of the store this process has written or removed. A store that has to be polled would tell them late. */
  changed (keys: readonly string[]): void
  /** Tells all other workers that a readiness check has reached this process. */
  watched (): void
  /** Runs `work` while no other worker runs work by its `inTurn`. The caller must wait for one call in this process before it makes the next. */
  inTurn<T> (work: () => Promise<T>): Promise<T>
}

/** A message of a worker process to the primary process, which has started all workers. */
export type FromWorker =
  /** Asks for the metrics of the other workers, and contains this worker's own. */
  | { readonly kind: 'gather', readonly question: number, readonly metrics: CollectedMetrics }
  /** Answers the message `collect`: has this worker's metrics, for the worker with the id `asker`. */
  | { readonly kind: 'collected', readonly asker: number, readonly question: number, readonly metrics: CollectedMetrics }
  /** Asks for every other worker to read the store now. */
  | { readonly kind: 'reload' }
  /** Tells that this worker has written or removed keys of the store. */
  | { readonly kind: 'changed', readonly keys: readonly string[] }
  /** Tells that a readiness check has reached this worker. */
  | { readonly kind: 'watched' }
  /** Asks for a turn: the right to write to the store, which only one worker has at a time. */
  | { readonly kind: 'enter' }
  /** Tells that this worker has ended its turn (its right to write to the store). */
  | { readonly kind: 'leave' }

/** A message of the primary process to a worker process. */
export type ToWorker =
  /** Asks the worker to stop; with `leave`, only after load balancers have stopped sending it requests. */
  | { readonly kind: 'stop', readonly leave: boolean }
  | { readonly kind: 'reload' }
  /** Tells that another worker has written or removed keys of the store. */
  | { readonly kind: 'changed', readonly keys: readonly string[] }
  /** Tells that a readiness check has reached another worker. */
  | { readonly kind: 'watched' }
  /** Gives the worker its turn: the right to write to the store. */
  | { readonly kind: 'entered' }
  /** Asks for the worker's metrics, because the worker with the id `asker` has asked for those of all workers. */
  | { readonly kind: 'collect', readonly asker: number, readonly question: number }
  /** Answers the message `gather`: has the metrics of each other worker, and those of workers that have died. */
  | { readonly kind: 'gathered', readonly question: number, readonly metrics: readonly CollectedMetrics[] }
