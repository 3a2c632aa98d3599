import assert from 'node:assert/strict'
import { type Row } from '../report.ts'
import { compare, type Comparison, inThisProcess } from '../rounds.ts'
import { CASES } from './cases.ts'
import { packageEngine, serviceEngine } from './engines.ts'

/** Handlebars syntax against the handlebars package's runtime, and Go syntax beside our own Handlebars. */
export async function benchRuntime (): Promise<Row[]> {
  const rows: Row[] = []
  for (const example of CASES) {
    const [handlebars, go, theirs] = [serviceEngine(example, 'handlebars'), serviceEngine(example, 'go'), packageEngine(example)]
    assert.equal(handlebars(), theirs(), example.name)
    assert.equal(go(), handlebars(), example.name)
    const beside = await compare(inThisProcess(handlebars), inThisProcess(theirs))
    rows.push({ name: `handlebars-runtime/${example.name}`, figure: beside.speedup, unit: 'x', details: `as fast as the package: ${times(beside, 'the package')}` })
    const other = await compare(inThisProcess(go), inThisProcess(handlebars))
    rows.push({ name: `go-beside-handlebars/${example.name}`, figure: 1 / other.speedup, unit: 'x', details: `of the time of our Handlebars: ${times(other, 'Handlebars')}` })
  }
  return rows
}

/** Both times in words. */
export function times ({ ours, theirs }: Comparison, name: string): string {
  return `${ours.toFixed(2)} µs, ${name} ${theirs.toFixed(2)} µs`
}
