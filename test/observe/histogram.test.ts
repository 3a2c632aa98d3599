import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { Histogram as PrometheusHistogram, Registry } from 'prom-client'
import { Histogram } from '../../src/observe/metrics.ts'
import { property } from '../helpers/property.ts'

const options = { name: 'seconds', help: 'Time', labels: ['route', 'status'], buckets: [0.001, 0.01, 0.1, 1] }

describe('Histogram', () => {
  property('prints what prom-client\'s own does, whatever is observed', 200, async given => {
    const observation = fc.record({ route: fc.constantFrom('/a', '/b', 'x"y\\z'), status: fc.constantFrom(200, 404), value: fc.oneof(fc.double({ min: 0, max: 2, noNaN: true }), fc.constantFrom(0.001, 0.01, 1)) })
    await given.comesToHold(fc.asyncProperty(fc.array(observation), async observations => {
      const [ours, theirs] = [new Registry(), new Registry()]
      const histogram = new Histogram(ours, options)
      const model = new PrometheusHistogram({ ...options, labelNames: options.labels, registers: [theirs] })
      for (const { route, status, value } of observations) {
        histogram.at(route, status).observe(value)
        model.observe({ route, status }, value)
      }
      assert.equal(sorted(await ours.metrics()), sorted(await theirs.metrics()))
    }))
  })

  it('is there with zeros before the first observation when it has no labels', async () => {
    const registry = new Registry()
    assert.equal(new Histogram(registry, { ...options, labels: [] }).labelNames.length, 0)
    assert.match(await registry.metrics(), /seconds_bucket\{le="\+Inf"\} 0\nseconds_sum 0\nseconds_count 0/)
  })
})

/** Buckets are printed in another order where labels are; that order means nothing. */
function sorted (text: string): string {
  return text.split('\n').map(line => line.replace(/\{(.*)\}/, (_match, labels: string) => `{${labels.split(',').sort().join(',')}}`)).sort().join('\n')
}
