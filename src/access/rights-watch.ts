import { ServiceError } from '../base/errors.ts'

/** The time between two looks at all that is open, in ms. */
const INTERVAL = 1000

/**
 * Looks once a second at everything that stays open longer than a request (sockets, event streams, terminals, effects of running sessions),
 * whether or not anybody is connected to it, and ends what its owner's token does not allow any more.
 */
export class RightsWatch {
  readonly #open = new Set<() => void>()
  #timer: NodeJS.Timeout | undefined

  /**
   * Watches one open thing until it has lost its rights, or until the returned function is called.
   * @param lost gives the reason because of which it must end; `undefined` while the token still allows it
   * @param end ends it; called once
   * @returns a function that ends the watch, and may be called more than once
   */
  watch<Why> (lost: () => Why | undefined, end: (why: Why) => void): () => void {
    const look = (): void => {
      const why = lost()
      if (why === undefined) return
      leave()
      end(why)
    }
    const leave = (): void => {
      this.#open.delete(look)
      if (this.#open.size > 0) return
      clearInterval(this.#timer)
      this.#timer = undefined
    }
    this.#open.add(look)
    this.#timer ??= setInterval(() => { for (const each of this.#open) each() }, INTERVAL).unref()
    return leave
  }
}

/** The error with which a check of rights fails; `undefined` when it passes. */
export function refusalBy (check: () => unknown): ServiceError | undefined {
  try {
    check()
    return undefined
  } catch (error) {
    return error instanceof ServiceError ? error : new ServiceError('INTERNAL', 500, 'The rights could not be looked up')
  }
}
