import { type Log } from '../../base/log.ts'
import { isWithheld, type StoredValue } from '../../store/store.ts'

/** Whether the store can be read, for the service's readiness. Each change of that is logged once. */
export class StoreHealth {
  readonly #log: Log
  #verifiedAt: Date | undefined
  #problem: string | undefined
  #labelsProblem: string | undefined

  constructor (log: Log) {
    this.#log = log
  }

  /** The time when all entries were last compared with the store; `undefined` before the first time. */
  get verifiedAt (): Date | undefined {
    return this.#verifiedAt
  }

  /** The reason why a read of the store has failed; `undefined` when none has failed since all entries were last compared with the store. */
  get problem (): string | undefined {
    return this.#problem
  }

  /** Why no labels of prompts (`production`) are served: the store does not let this process read what labels stand for. `undefined` when it does. */
  get labelsProblem (): string | undefined {
    return this.#labelsProblem
  }

  /** Notes that all entries have just been compared with the store. */
  verified (): void {
    if (this.#problem !== undefined) this.#log.info({}, 'the store answers again')
    this.#problem = undefined
    this.#verifiedAt = new Date()
  }

  /** Notes that a read of the store has failed. @param reason why, in words */
  failed (reason: string): void {
    if (this.#problem !== reason) this.#log.warn({ reason }, 'the store cannot be read; what was loaded stays in force')
    this.#problem = reason
  }

  /**
   * Notes whether the store lets this process read which versions of prompts the labels (`production`) stand for. An operator's old ACL of Redis can
   * forbid that. Then labels are not served, and everything else is.
   * @param probes what the store answers when the bare key prefixes of release records and of versions are read
   */
  judgeLabels (probes: ReadonlyArray<readonly [prefix: string, value: StoredValue]>): void {
    const withheld = probes.filter(([, value]) => isWithheld(value)).map(([prefix]) => prefix)
    const problem = withheld.length === 0 ? undefined : `labels are not served: the store lets this process read nothing below ${withheld.join(' and ')}`
    if (problem !== undefined && problem !== this.#labelsProblem) this.#log.warn({ prefixes: withheld }, problem)
    this.#labelsProblem = problem
  }
}
