import cluster from 'node:cluster'

const SIGNALS = ['SIGINT', 'SIGTERM'] as const

let end = (): void => { process.exit(0) }

/**
 * Answers signals while the service is loaded and started, which takes a second: there is nothing yet that would have to
 * end in order. `node` is the first process of a container, and to such a one the kernel delivers no signal that it has no
 * handler for (https://man7.org/linux/man-pages/man7/pid_namespaces.7.html). A worker is ended by its primary process,
 * although a signal may reach both.
 */
export function answerEarlySignals (): void {
  for (const signal of SIGNALS) process.on(signal, answer)
}

/** Says how to end from now on: with a log, that is to be written first. */
export function endEarlyBy (work: () => void): void {
  end = work
}

/** Leaves signals to who ends the process in order from now on. */
export function leaveEarlySignals (): void {
  for (const signal of SIGNALS) process.off(signal, answer)
}

function answer (): void {
  if (cluster.isPrimary) end()
}
