import { childName } from '../../src/template/scope.ts'
import prom from 'prom-client'
import { Histogram } from '../../src/observe/metrics.ts'
import { type Row } from '../report.ts'
import { compare, inThisProcess } from '../rounds.ts'

const BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1]
const LABELS = ['method', 'route', 'status'] as const
const NAMES = ['rules', 'frameworks', 'language', 'project', 'owner'] as const

/** What is faster than its plain form, beside that: a render looks names of shared variables up, a request makes four observations. */
export async function benchKept (): Promise<Row[]> {
  const registry = new prom.Registry()
  const ours = new Histogram(registry, { name: 'ours', help: 'ours', labels: LABELS, buckets: BUCKETS })
  const theirs = new prom.Histogram({ name: 'theirs', help: 'theirs', labelNames: LABELS, buckets: BUCKETS, registers: [registry] })
  const observed = await compare(
    inThisProcess(() => { ours.at('POST', '/api/render/prompts/:id', 200).observe(0.002); return true }),
    inThisProcess(() => { theirs.observe({ method: 'POST', route: '/api/render/prompts/:id', status: 200 }, 0.002); return true }))

  const values = new Map(NAMES.map(name => [`vscode.${name}`, name]))
  const named = await compare(
    inThisProcess(() => NAMES.map(name => values.get(childName('vscode', name)))),
    inThisProcess(() => NAMES.map(name => values.get(`vscode.${name}`))))
  return [
    { name: 'kept/histogram', figure: observed.speedup, unit: 'x', details: `as fast as prom-client's own: ${observed.ours.toFixed(3)} µs an observation, prom-client ${observed.theirs.toFixed(3)} µs` },
    { name: 'kept/child-name', figure: named.speedup, unit: 'x', details: `as fast as putting names together: ${named.ours.toFixed(3)} µs for five look-ups, plain ${named.theirs.toFixed(3)} µs` }
  ]
}
