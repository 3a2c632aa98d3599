import { load, type Round, type Target } from '../load.ts'
import { cpuTime, type ServerProcess } from '../processes.ts'
import { median, percentile } from '../rounds.ts'

/** A server, and what is asked of it. */
export interface Contestant {
  readonly name: string
  readonly server: ServerProcess
  readonly path: Target['path']
}

/** What a contestant has shown, as medians over the rounds. */
export interface Showing {
  readonly perSecond: number
  /** CPU time of its process for each request, in µs; NaN where the system does not tell. */
  readonly cpu: number
  readonly p99: number
}

/** Ratios of the first to the second, each the median over the rounds. */
export interface Ratio {
  readonly perSecond: number
  readonly cpu: number
}

const CONNECTIONS = 20
const ROUNDS = 5
const ROUND_MILLISECONDS = 2000
const WARM_UP_MILLISECONDS = 1500

type Measured = Omit<Showing, 'p99'> & { readonly round: Round }

/** Loads both in turn, A B A B …, so that what else the machine does meets both. @param body of every request */
export async function contest (ours: Contestant, theirs: Contestant, body: string): Promise<{ ours: Showing, theirs: Showing, ratio: Ratio }> {
  for (const each of [ours, theirs]) await measure(each, body, WARM_UP_MILLISECONDS)
  const rounds: Array<{ ours: Measured, theirs: Measured }> = []
  for (let round = 0; round < ROUNDS; round++) {
    rounds.push({ ours: await measure(ours, body, ROUND_MILLISECONDS), theirs: await measure(theirs, body, ROUND_MILLISECONDS) })
  }
  return {
    ours: summary(rounds.map(round => round.ours)),
    theirs: summary(rounds.map(round => round.theirs)),
    ratio: {
      perSecond: median(rounds.map(round => round.ours.perSecond / round.theirs.perSecond)),
      cpu: median(rounds.map(round => round.ours.cpu / round.theirs.cpu))
    }
  }
}

async function measure ({ name, server, path }: Contestant, body: string, duration: number): Promise<Measured> {
  const before = await cpuTime(server.pid)
  const round = await load({ name, origin: server.origin, path, body: () => body }, '', CONNECTIONS, duration)
  const used = (await cpuTime(server.pid) ?? NaN) - (before ?? NaN)
  return { round, perSecond: round.perSecond, cpu: used * 1000 / round.replies }
}

function summary (all: readonly Measured[]): Showing {
  return {
    perSecond: median(all.map(({ perSecond }) => perSecond)),
    cpu: median(all.map(({ cpu }) => cpu)),
    p99: median(all.map(({ round }) => percentile(round.totals, 99)))
  }
}
