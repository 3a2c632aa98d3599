import { type CollectedMetrics } from '../observe/metrics.ts'
import { type FromWorker, type ToWorker } from './messages.ts'
import { type SiblingDuties, type Siblings } from './siblings.ts'

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
