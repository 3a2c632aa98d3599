import cluster from 'node:cluster'

const SIGNALS = ['SIGINT', 'SIGTERM'] as const

let end = (): void => { process.exit(0) }

/**
 * Answers signals while the service is loaded and started, which takes a second: nothing has to be closed yet. In a container, `node` is the first
 * process, and to a first process the kernel delivers no signal for which it has no handler
 * (https://man7.org/linux/man-pages/man7/pid_namespaces.7.html). A worker ignores signals here, even where a signal reaches all processes: its
 * primary process ends it.
 */
export function answerEarlySignals (): void {
  for (const signal of SIGNALS) process.on(signal, answer)
}

/** Sets how a signal ends the process while the service is still starting. Called once there is a log, whose lines have to be written first. */
export function endEarlyBy (work: () => void): void {
  end = work
}

/** Stops answering signals here: from now on, another handler closes the service before the process ends. */
export function leaveEarlySignals (): void {
  for (const signal of SIGNALS) process.off(signal, answer)
}

function answer (): void {
  if (cluster.isPrimary) end()
}
