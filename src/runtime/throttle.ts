/** Work that others ask for as often as they like, and that is begun at most once in an interval. */
export interface Throttle {
  /** Begins the work now, or as soon as the interval is over: several requests meanwhile are one. */
  request (): void
  /** Begins nothing more. */
  stop (): void
}

/** @param interval from one beginning to the next, in ms */
export function createThrottle (work: () => void, interval: number): Throttle {
  let timer: NodeJS.Timeout | undefined
  let isWanted = false
  let isStopped = false

  function begin (): void {
    isWanted = false
    timer = setTimeout(() => {
      timer = undefined
      if (isWanted) begin()
    }, interval).unref()
    work()
  }

  return {
    request () {
      if (isStopped) return
      if (timer === undefined) begin()
      else isWanted = true
    },
    stop () {
      isStopped = true
      clearTimeout(timer)
    }
  }
}
