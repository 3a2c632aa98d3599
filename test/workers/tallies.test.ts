import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { AggregatorRegistry, Counter, Gauge, Histogram, Registry } from 'prom-client'
import { type CollectedMetrics } from '../../src/observe/metrics.ts'
import { Tallies } from '../../src/workers/primary.ts'
import { parseMetrics, sumOf } from '../helpers/metrics.ts'

/** What a worker tells that has answered so many requests, of 2 s each. */
async function countOf (requests: number): Promise<CollectedMetrics> {
  const registry = new Registry()
  new Counter({ name: 'requests_total', help: '-', labelNames: ['route'], registers: [registry] }).inc({ route: '/a' }, requests)
  new Gauge({ name: 'open', help: '-', registers: [registry] }).set(requests)
  const seconds = new Histogram({ name: 'seconds', help: '-', buckets: [1, 5], registers: [registry] })
  for (let count = 0; count < requests; count++) seconds.observe(2)
  return await registry.getMetricsAsJSON() as unknown as CollectedMetrics
}

async function shownBeside (tallies: Tallies<string>, worker: string): Promise<Array<readonly [string, number]>> {
  const samples = parseMetrics(await AggregatorRegistry.aggregate(await tallies.beside(worker) as object[]).metrics())
  return ['requests_total', 'seconds_count', 'seconds_sum', 'open'].map(name => [name, sumOf(samples, name)] as const)
}

describe('the tallies of workers', () => {
  it('are those of all others, as they told them last', async () => {
    const tallies = new Tallies<string>()
    for (const [worker, requests] of [['a', 1], ['b', 5], ['b', 2], ['c', 3]] as const) tallies.take(worker, await countOf(requests))
    assert.deepEqual(await shownBeside(tallies, 'a'), [['requests_total', 5], ['seconds_count', 5], ['seconds_sum', 10], ['open', 5]])
  })

  it('keep the counters of the dead, and none of their gauges', async () => {
    const tallies = new Tallies<string>()
    for (const [worker, requests] of [['a', 1], ['b', 2], ['c', 3]] as const) tallies.take(worker, await countOf(requests))
    tallies.bury('b')
    tallies.bury('c')
    tallies.bury('never told anything')
    assert.deepEqual(await shownBeside(tallies, 'a'), [['requests_total', 5], ['seconds_count', 5], ['seconds_sum', 10], ['open', 0]])
  })
})
