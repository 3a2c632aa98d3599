/** Work that is asked for often, and of which never two runs overlap. */
export interface OneAtATime {
  /** Runs the work: at once or, if a run is under way, once more after it. All calls that come during a run share this one further run. */
  run (): Promise<void>
  isRunning (): boolean
  /** Settles when all runs that have been asked for until now have ended. */
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
