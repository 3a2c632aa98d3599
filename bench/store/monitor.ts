// Loaded into the service's process before it starts: tells, when it is asked, what only that process knows.

/** What a service tells of itself. */
export interface Vitals {
  /** Times for which nothing but one piece of work ran, of 5 ms and more, since the last question. */
  readonly blocks: ReadonlyArray<{ readonly milliseconds: number, /** When it ended, Unix time in ms. */ readonly endedAt: number }>
  /** CPU time since the start, in ms. */
  readonly cpu: number
}

/** Shorter ones are not noted, in ms. */
const SHORTEST = 5

let blocks: Array<Vitals['blocks'][number]> = []
let lastTick = performance.now()
let lastCpu = cpuTime()

// A gap between two ticks counts with the CPU time that the process used in it: when the machine ran something else
// meanwhile, this process did not block.
setInterval(() => {
  const now = performance.now()
  const cpu = cpuTime()
  const milliseconds = Math.min(now - lastTick, cpu - lastCpu)
  if (milliseconds >= SHORTEST) blocks.push({ milliseconds, endedAt: Date.now() })
  lastTick = now
  lastCpu = cpu
}, 1).unref()

process.on('message', () => {
  const vitals: Vitals = { blocks, cpu: cpuTime() }
  process.send?.(vitals)
  blocks = []
})
// Being asked does not keep the process alive.
process.channel?.unref()

function cpuTime (): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}
