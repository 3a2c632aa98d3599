import assert from 'node:assert/strict'
import { type Row } from '../report.ts'
import { compare, inThisProcess } from '../rounds.ts'
import { CASES } from './cases.ts'
import { serviceEngine } from './engines.ts'
import { times } from './runtime.ts'

/**
 * Explained renders beside the same ones unexplained, twice: as far as the render goes, which notes where each piece of
 * the output comes from, and up to the spans, which are made of the notes for the reply.
 */
export async function benchExplain (): Promise<Row[]> {
  const rows: Row[] = []
  for (const example of CASES) {
    for (const syntax of ['go', 'handlebars'] as const) {
      const plain = serviceEngine(example, syntax)
      for (const [name, how] of [['explain', 'noted'], ['explain-to-spans', 'told']] as const) {
        const explained = serviceEngine(example, syntax, how)
        assert.equal(explained(), plain(), example.name)
        const result = await compare(inThisProcess(explained), inThisProcess(plain))
        rows.push({ name: `${name}/${syntax}/${example.name}`, figure: 1 / result.speedup, unit: 'x', details: `of the time without: ${times(result, 'unexplained')}` })
      }
    }
  }
  return rows
}
