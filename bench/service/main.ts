// npm run bench: the whole service, as it ships. --json FILE writes the rows as JSON; --only NAME runs one part: start,
// renders, memory; --minutes N is how long memory is watched, 10 unless told.
import { cpus } from 'node:os'
import { parseArgs } from 'node:util'
import { report, type Row } from '../report.ts'
import { memoryRows } from './memory.ts'
import { renderRows } from './renders.ts'
import { startRows } from './start.ts'

const { values: { json, only, minutes } } = parseArgs({ options: { json: { type: 'string' }, only: { type: 'string' }, minutes: { type: 'string', default: '10' } } })

const PARTS: Readonly<Record<string, () => Promise<Row[]>>> = { start: startRows, renders: renderRows, memory: () => memoryRows(Number(minutes)) }

const rows: Row[] = []
for (const [name, measure] of Object.entries(PARTS)) {
  if (only === undefined || only === name) rows.push(...await measure())
}
report(`The service: Node ${process.version}, ${cpus().length} cores`, rows, json)
