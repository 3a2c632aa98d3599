// npm run bench:templates: the template engines beside their yardsticks. Options: --json FILE writes the rows as JSON;
// --only NAME runs one of the parts: runtime, compile, go, explain, bombs, kept.
import { parseArgs } from 'node:util'
import { report, type Row } from '../report.ts'
import { benchBombs } from './bombs.ts'
import { benchCompile } from './compile.ts'
import { benchExplain } from './explain.ts'
import { benchGoToolchain } from './go-toolchain.ts'
import { benchKept } from './kept.ts'
import { benchRuntime } from './runtime.ts'

// Explained renders come after the plain ones of this process: they share closures, which V8 compiles for what it has seen
// running, and a service seldom explains.
const PARTS: Readonly<Record<string, () => Promise<Row[]>>> = { runtime: benchRuntime, compile: benchCompile, go: benchGoToolchain, explain: benchExplain, bombs: benchBombs, kept: benchKept }

const { values: { json, only } } = parseArgs({ options: { json: { type: 'string' }, only: { type: 'string' } } })
const rows: Row[] = []
for (const [name, bench] of Object.entries(PARTS)) {
  if (only === undefined || only === name) rows.push(...await bench())
}
report('Templates', rows, json)
