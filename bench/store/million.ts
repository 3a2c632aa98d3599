import { type Row } from '../report.ts'
import { compare } from '../rounds.ts'
import { startRedis, type BenchRedis } from './redis.ts'
import { startService, type BenchService } from './service.ts'

const KEYS = 1_000_000
const USED = 20
const STEADY_RENDERS = 2000

/** CPU time of a round, in ms: a full collection of a million names takes as long as many renders, and falls into some rounds only. */
const ROUND_MILLISECONDS = 1000

/** How the service fares with a million shared variables, beside one that has only those that its prompt uses. */
export async function millionRows (): Promise<Row[]> {
  const [many, few] = [await startRedis(), await startRedis()]
  await few.fill(common())
  await many.fill(common())
  await many.fill(chats())
  const service = await startService(many.url)
  const other = await startService(few.url)
  try {
    const longestBlock = await service.longestBlockOfLoading()
    const loaded = service.memory()
    const { speedup, ours, theirs } = await compare(cpuOf(service), cpuOf(other), ROUND_MILLISECONDS)
    const commands = await steadyCommands(many, service)
    return [
      { name: 'million/ready', figure: service.readyAfter, unit: 'ms', details: 'from the start of the process until /readyz answers 200' },
      { name: 'million/longest-block', figure: longestBlock, unit: 'ms', details: 'CPU time of the longest gap between two turns of the event loop while the store was read' },
      { name: 'million/resident', figure: service.memory().resident, unit: 'MB', details: `resident after the renders; ${loaded.peak.toFixed(0)} MB at most while loading` },
      { name: 'million/render', figure: speedup, unit: 'x', details: `${ours.toFixed(0)} µs of CPU a render, ${theirs.toFixed(0)} µs with only the ${USED} keys` },
      { name: 'steady/commands', figure: [...commands.values()].reduce((sum, calls) => sum + calls, 0), unit: 'commands', details: `that Redis has run in ${STEADY_RENDERS} renders: ${[...commands].map(each => each.join(' ')).join(', ') || 'none'}; heartbeats (PING) left out` }
    ]
  } finally {
    await Promise.all([service.stop(), other.stop()])
    await Promise.all([many.stop(), few.stop()])
  }
}

function * common (): Generator<readonly [string, string]> {
  const names = Array.from({ length: USED }, (_, index) => `m${index % 4}:v${index}`)
  for (const name of names) yield [`shenma:environs:${name}`, JSON.stringify({ text: `the value of ${name}`, list: [1, 2, 3] })]
  yield ['shenma:templates:used', names.map(name => `{{${name.replace(':', '.')}.text}}`).join('\n')]
}

function * chats (): Generator<readonly [string, string]> {
  for (let index = 0; index < KEYS; index++) yield [`shenma:environs:chat:session-${index.toString(36)}:history`, '"hello"']
}

function cpuOf (service: BenchService) {
  return async (times: number): Promise<number> => {
    const before = (await service.vitals()).cpu
    for (let count = 0; count < times; count += 4) await Promise.all(Array.from({ length: 4 }, () => service.render('used')))
    return (await service.vitals()).cpu - before
  }
}

/** The commands of a stretch in which no reconciliation fell, which runs every 60 s. */
async function steadyCommands (redis: BenchRedis, service: BenchService): Promise<ReadonlyMap<string, number>> {
  for (;;) {
    await redis.commands()
    for (let count = 0; count < STEADY_RENDERS; count++) await service.render('used')
    const commands = await redis.commands()
    if (!commands.has('scan') && !commands.has('client|tracking')) return commands
    console.log('a reconciliation fell into the measurement; once more')
  }
}
