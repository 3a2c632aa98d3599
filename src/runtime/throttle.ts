/** Runs work when it is requested, but begins it at most once in an interval. */
export interface Throttle {
  /** Begins the work now, or as soon as the interval is over. Several requests during an interval count as one. */
  request (): void
  /** Ends the throttle: the work never begins again. */
  stop (): void
}

/** Makes a throttle. @param interval the least time between two beginnings of the work, in ms */
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
