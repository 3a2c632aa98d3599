/** Work that never overlaps itself. */
export interface OneAtATime {
  /** Starts the work, or waits for it; calls that come while it runs share a single further run. */
  run (): Promise<void>
  isRunning (): boolean
  /** Settles when nothing runs and nothing is due. */
  idle (): Promise<void>
}

/** @param work must not reject: nobody may be there to hear of it */
export function oneAtATime (work: () => Promise<void>): OneAtATime {
  let running: Promise<void> | undefined
  let next: Promise<void> | undefined

  function run (): Promise<void> {
    if (running === undefined) {
      running = work().finally(() => { running = undefined })
      return running
    }
    next ??= running.then(() => {
      next = undefined
      return run()
    })
    return next
  }

  return {
    run,
    isRunning: () => running !== undefined,
    async idle () {
      await (next ?? running)
    }
  }
}
