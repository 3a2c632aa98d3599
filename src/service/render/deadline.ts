// Made once: an abort without a reason makes an error with a stack every time, which costs as much as a short render.
const OVER = new DOMException('the render is over', 'AbortError')

/** The end of a render. The timer is made when something first waits for it: most renders never wait. */
export class Deadline {
  /** On the clock of `performance.now()`, in ms. */
  readonly at: number
  /** The whole time, in ms. */
  readonly timeout: number
  #controller: AbortController | undefined
  #timer: NodeJS.Timeout | undefined

  /**
   * @param timeout in ms
   * @param since what it counts from, on the clock of `performance.now()`
   */
  constructor (timeout: number, since = performance.now()) {
    this.timeout = timeout
    this.at = since + timeout
  }

  /** Aborts at the deadline, with a `TimeoutError`: a tool that was still busy then has failed. */
  get signal (): AbortSignal {
    if (this.#controller === undefined) {
      const controller = new AbortController()
      this.#controller = controller
      this.#timer = setTimeout(() => { controller.abort(new DOMException(`not done within ${this.timeout} ms`, 'TimeoutError')) }, Math.max(0, this.at - performance.now()))
    }
    return this.#controller.signal
  }

  /** Ends the timer; whatever still listens to the signal is told that nobody waits any more. */
  clear (): void {
    clearTimeout(this.#timer)
    this.#controller?.abort(OVER)
  }
}
