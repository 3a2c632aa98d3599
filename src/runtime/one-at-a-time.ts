/** Work that is asked for often, and of which never two runs overlap. */
export interface OneAtATime {
  /** Starts the work, or waits for the running one to end. All calls that come during a run share a single further run. */
  run (): Promise<void>
  isRunning (): boolean
  /** Settles when no run is under way and none is due. */
  idle (): Promise<void>
}

/** Makes work run one at a time. @param work must not reject, since possibly nobody waits for its end */
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
