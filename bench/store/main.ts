// npm run bench:store: how soon a change is served, and how the service fares with many keys, over a real redis-server that
// the benchmark starts. Options: --json FILE writes the rows as JSON; --only NAME runs one part: latency, million, large, releases.
import { parseArgs } from 'node:util'
import { report, type Row } from '../report.ts'
import { largeRows } from './large.ts'
import { latencyRows } from './latency.ts'
import { millionRows } from './million.ts'
import { releaseRows } from './releases.ts'

const PARTS: Readonly<Record<string, () => Promise<Row[]>>> = { latency: latencyRows, million: millionRows, large: largeRows, releases: releaseRows }

const { values: { json, only } } = parseArgs({ options: { json: { type: 'string' }, only: { type: 'string' } } })
const rows: Row[] = []
for (const [name, bench] of Object.entries(PARTS)) {
  if (only === undefined || only === name) rows.push(...await bench())
}
report('The store', rows, json)
