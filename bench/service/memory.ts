import { load } from '../load.ts'
import { residentMegabytes } from '../processes.ts'
import { type Row } from '../report.ts'
import { BODY, rotation } from './payload.ts'
import { onServiceStage } from './service-stage.ts'

const CONNECTIONS = 20
const MINUTE = 60_000

/** What the memory grows to while a core is kept busy, 100 of the prompts in turn. @param minutes how long, at least 2 */
export const memoryRows = (minutes: number): Promise<Row[]> => onServiceStage(async ({ store, startService }) => {
  const server = await startService(store)
  const target = { name: 'service', origin: server.origin, path: rotation(), body: () => BODY }
  const megabytesAfter = async (duration: number): Promise<number> => {
    await load(target, '', CONNECTIONS, duration)
    return await residentMegabytes(server.pid) ?? NaN
  }
  const early = await megabytesAfter(2 * MINUTE)
  const late = await megabytesAfter((minutes - 2) * MINUTE)
  return [
    { name: 'memory/resident', figure: late, unit: 'MB', details: `after ${minutes} minutes at full load, with 1,100 prompts` },
    { name: 'memory/growth', figure: late / early, unit: 'x', details: `since minute 2, when it was ${early.toFixed(1)} MB` }
  ]
})
