import assert from 'node:assert/strict'
import { type Row } from '../report.ts'
import { compare, inThisProcess } from '../rounds.ts'
import { CASES } from './cases.ts'
import { serviceEngine } from './engines.ts'
import { times } from './runtime.ts'

/** Explained renders beside the same ones unexplained. */
export async function benchExplain (): Promise<Row[]> {
  const rows: Row[] = []
  for (const example of CASES) {
    for (const syntax of ['go', 'handlebars'] as const) {
      const [plain, explained] = [serviceEngine(example, syntax), serviceEngine(example, syntax, true)]
      assert.equal(explained(), plain(), example.name)
      const result = await compare(inThisProcess(explained), inThisProcess(plain))
      rows.push({ name: `explain/${syntax}/${example.name}`, figure: 1 / result.speedup, unit: 'x', details: `of the time without: ${times(result, 'unexplained')}` })
    }
  }
  return rows
}
