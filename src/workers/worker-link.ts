import type { CollectedMetrics } from '../observe/metrics.ts'
import type { UsageStore } from '../store/usage-store.ts'

/** In ms; the primary process itself waits up to 2 s for the other workers. */
const PATIENCE = 3000

export class WorkerLink {
  /** Also resolves when the primary process has died. */
  readonly stopped: Promise<{ readonly leave: boolean }>
  readonly #questions = new Map<number, (metrics: readonly CollectedMetrics[]) => void>()
  readonly #usage = new Map<number, (answer: UsageAnswer) => void>()
  #asked = 0
  #enter = () => {}
  #duties: SiblingDuties | undefined

  constructor () {
    // Only the primary process stops workers: a signal often reaches its whole group, and a second stop would break off requests.
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => {})
    this.stopped = new Promise(resolve => {
      process.on('disconnect', () => {
        for (const answer of this.#usage.values()) answer({})
        resolve({ leave: false })
      })
      process.on('message', (message: ToWorker) => {
        if (message.kind === 'stop') resolve(message)
        else this.#hear(message)
      })
    })
  }

  /** Counts and budgets of all workers, which the primary process keeps. */
  readonly usage: UsageStore = {
    since: () => this.#askUsage({ method: 'since', args: [] }),
    add: (...args) => this.#askUsage({ method: 'add', args }),
    read: (...args) => this.#askUsage({ method: 'read', args }),
    reserve: (...args) => this.#askUsage({ method: 'reserve', args }),
    settle: (...args) => this.#askUsage({ method: 'settle', args }),
    used: (...args) => this.#askUsage({ method: 'used', args }),
    close: async () => {}
  }

  /** @throws Error when the primary process is gone */
  async #askUsage<M extends keyof UsageStore> (call: UsageCall<M>): Promise<Awaited<ReturnType<UsageStore[M]>>> {
    const question = ++this.#asked
    const answer = await new Promise<UsageAnswer>(resolve => {
      this.#usage.set(question, resolve)
      if (process.connected) send({ kind: 'usage', question, call })
      else resolve({})
    })
    this.#usage.delete(question)
    if (!('result' in answer)) throw new Error('the primary process, which keeps the counts, is gone')
    return answer.result as Awaited<ReturnType<UsageStore[M]>>
  }

  attend (duties: SiblingDuties): void {
    this.#duties = duties
  }

  /** Also of workers that have died; `own` is kept in case this worker dies. */
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

  /** Names the keys this process has written or removed, since a store that is polled would tell the others late. */
  changed (keys: readonly string[]): void {
    send({ kind: 'changed', keys })
  }

  watched (): void {
    send({ kind: 'watched' })
  }

  /** Runs `work` while no other process runs its own. Calls of one process must not overlap. */
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
      case 'counted':
        this.#usage.get(message.question)?.(message)
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

/** What is asked of the primary process about counts and budgets. */
export interface UsageCall<M extends keyof UsageStore = keyof UsageStore> {
  readonly method: M
  readonly args: Parameters<UsageStore[M]>
}

/** Without a result when nobody answers any more. */
interface UsageAnswer { readonly result?: unknown }

interface SiblingDuties {
  collectMetrics (): Promise<CollectedMetrics>
  reload (): Promise<void>
  follow (keys: readonly string[]): Promise<void>
  watched (): void
}

export type FromWorker =
  | { readonly kind: 'gather', readonly question: number, readonly metrics: CollectedMetrics }
  | { readonly kind: 'collected', readonly asker: number, readonly question: number, readonly metrics: CollectedMetrics }
  | { readonly kind: 'reload' }
  | { readonly kind: 'changed', readonly keys: readonly string[] }
  | { readonly kind: 'watched' }
  /** Asks for the right to write to the store, which one worker has at a time. */
  | { readonly kind: 'enter' }
  | { readonly kind: 'leave' }
  | { readonly kind: 'usage', readonly question: number, readonly call: UsageCall }

export type ToWorker =
  /** Asks the worker to stop; with `leave`, only after load balancers have stopped sending it requests. */
  | { readonly kind: 'stop', readonly leave: boolean }
  | { readonly kind: 'reload' }
  | { readonly kind: 'changed', readonly keys: readonly string[] }
  | { readonly kind: 'watched' }
  | { readonly kind: 'entered' }
  | { readonly kind: 'counted', readonly question: number, readonly result: unknown }
  | { readonly kind: 'collect', readonly asker: number, readonly question: number }
  | { readonly kind: 'gathered', readonly question: number, readonly metrics: readonly CollectedMetrics[] }
