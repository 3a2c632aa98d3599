import cluster from 'node:cluster'

const SIGNALS = ['SIGINT', 'SIGTERM'] as const

/**
 * Answers signals while the service is loaded and started, which takes a second: there is nothing yet that would have to
 * end in order. `node` is the first process of a container, and to such a one the kernel delivers no signal that it has no
 * handler for (https://man7.org/linux/man-pages/man7/pid_namespaces.7.html). A worker leaves signals to its primary process.
 */
export function answerEarlySignals (): void {
  if (cluster.isPrimary) for (const signal of SIGNALS) process.once(signal, end)
}

/** Leaves signals to who ends the process in order from now on. */
export function leaveEarlySignals (): void {
  for (const signal of SIGNALS) process.off(signal, end)
}

function end (): void {
  process.exit(0)
}
