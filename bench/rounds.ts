/** What a benchmark repeats; gives something, so that no engine can leave the work out. */
export type Work = () => unknown

/** Does work so many times and gives the CPU time that it took, in ms, garbage collection included. */
export type Measure = (times: number) => number | Promise<number>

/** Two sides of one comparison, in µs of CPU time for each time the work was done. */
export interface Comparison {
  readonly ours: number
  readonly theirs: number
  /** Median over the rounds of theirs ÷ ours: above 1, ours is faster. */
  readonly speedup: number
}

const WARM_UP_MILLISECONDS = 300
const ROUND_MILLISECONDS = 60
const ROUNDS = 15

/** Measures work in this process. CPU time, so that what else runs on the machine counts as little as can be. */
export function inThisProcess (work: Work): Measure {
  let results = 0
  return times => {
    const before = process.cpuUsage()
    for (let count = 0; count < times; count++) if (work() !== undefined) results++
    const { user, system } = process.cpuUsage(before)
    if (results === 0) throw new Error('the work gives nothing')
    return (user + system) / 1000
  }
}

/**
 * Compares two sides in turns, A B A B …, so that both meet the same weather.
 * @param roundMilliseconds CPU time of a round: longer where a collection of garbage, or another process, weighs on a short one
 */
export async function compare (ours: Measure, theirs: Measure, roundMilliseconds = ROUND_MILLISECONDS): Promise<Comparison> {
  const [ourTimes, theirTimes] = [await timesPerRound(ours, roundMilliseconds), await timesPerRound(theirs, roundMilliseconds)]
  const rounds: Array<{ ours: number, theirs: number }> = []
  for (let round = 0; round < ROUNDS; round++) {
    const one = await ours(ourTimes) / ourTimes
    const other = await theirs(theirTimes) / theirTimes
    rounds.push({ ours: one * 1000, theirs: other * 1000 })
  }
  return {
    ours: median(rounds.map(round => round.ours)),
    theirs: median(rounds.map(round => round.theirs)),
    speedup: median(rounds.map(round => round.theirs / round.ours))
  }
}

/** Warms up, and finds how often the work can be done in a round. */
async function timesPerRound (measure: Measure, roundMilliseconds: number): Promise<number> {
  let times = 1
  let spent = 0
  let last = 0
  while (spent < Math.max(WARM_UP_MILLISECONDS, roundMilliseconds)) {
    last = await measure(times)
    spent += last
    if (last < roundMilliseconds) times *= 2
  }
  return Math.max(1, Math.round(times * roundMilliseconds / Math.max(last, 1)))
}

/** The middle value. */
export function median (values: readonly number[]): number {
  return percentile(values, 50)
}

/** The value that so many percent of all do not exceed. */
export function percentile (values: readonly number[], percent: number): number {
  const sorted = [...values].sort((one, other) => one - other)
  return sorted[Math.max(0, Math.ceil(sorted.length * percent / 100) - 1)] as number
}
