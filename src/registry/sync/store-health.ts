import { type Log } from '../../base/log.ts'
import { isWithheld, type StoredValue } from '../../store/store.ts'

/** Whether the store can be read, as readiness tells it; what changes about that is logged once. */
export class StoreHealth {
  readonly #log: Log
  #verifiedAt: Date | undefined
  #problem: string | undefined
  #labelsProblem: string | undefined

  constructor (log: Log) {
    this.#log = log
  }

  /** When everything was last verified against the store; `undefined` before the first time. */
  get verifiedAt (): Date | undefined {
    return this.#verifiedAt
  }

  /** Why the last refresh failed, when it did. */
  get problem (): string | undefined {
    return this.#problem
  }

  /** Why labels are not served, where the store does not let this process read what they mean. */
  get labelsProblem (): string | undefined {
    return this.#labelsProblem
  }

  /** Everything has been verified against the store now. */
  verified (): void {
    if (this.#problem !== undefined) this.#log.info({}, 'the store answers again')
    this.#problem = undefined
    this.#verifiedAt = new Date()
  }

  failed (reason: string): void {
    if (this.#problem !== reason) this.#log.warn({ reason }, 'the store cannot be read; what was loaded stays in force')
    this.#problem = reason
  }

  /**
   * An ACL from before there were labels names the prefixes of the other kinds. Labels are not read under it, and all else
   * goes on.
   * @param probes what the store gives for the prefixes of labels
   */
  judgeLabels (probes: ReadonlyArray<readonly [prefix: string, value: StoredValue]>): void {
    const withheld = probes.filter(([, value]) => isWithheld(value)).map(([prefix]) => prefix)
    const problem = withheld.length === 0 ? undefined : `labels are not served: the store lets this process read nothing below ${withheld.join(' and ')}`
    if (problem !== undefined && problem !== this.#labelsProblem) this.#log.warn({ prefixes: withheld }, problem)
    this.#labelsProblem = problem
  }
}
