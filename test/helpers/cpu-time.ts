/** How long the processor works on something that does not wait, in ms: what else the machine does has no part in it. */
export function cpuTimeOf (work: () => unknown): number {
  const start = process.cpuUsage()
  work()
  const { user, system } = process.cpuUsage(start)
  return (user + system) / 1000
}
