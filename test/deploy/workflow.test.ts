import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { parse } from 'yaml'

interface Step { readonly uses?: string, readonly run?: string, readonly with?: Readonly<Record<string, unknown>> }
interface Job {
  readonly steps: readonly Step[]
  readonly 'timeout-minutes'?: number
  readonly permissions?: object
  readonly strategy?: { readonly matrix: { readonly node: readonly number[] } }
  readonly services?: { readonly redis: { readonly options: string } }
}

const text = readFileSync('.github/workflows/ci.yml', 'utf8')
const workflow = parse(text) as { permissions: object, concurrency: { readonly group: string, readonly 'cancel-in-progress': boolean }, jobs: Record<string, Job> }
const jobs = Object.values(workflow.jobs)
const steps = jobs.flatMap(job => job.steps)

describe('the workflow', () => {
  it('runs what .ci/run runs, on Node 20, 22 and 24, beside a healthy Redis', () => {
    const [test] = jobs.filter(job => job.steps.some(step => step.run === 'bash .ci/run'))
    assert.deepEqual(test?.strategy?.matrix.node, [20, 22, 24])
    assert.match(test.services?.redis.options ?? '', /--health-cmd "redis-cli ping"/)
  })

  it('pins every action to a commit and says which version that is', () => {
    const actions = Array.from(text.matchAll(/uses: (.*)/g), ([, action]) => action)
    assert.equal(actions.length, steps.filter(step => step.uses !== undefined).length)
    for (const action of actions) assert.match(action ?? '', /^[\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/)
  })

  it('may read and nothing else, and leaves no credentials behind', () => {
    assert.deepEqual(workflow.permissions, { contents: 'read' })
    assert.ok(jobs.every(job => job.permissions === undefined))
    const checkouts = steps.filter(step => step.uses?.startsWith('actions/checkout@'))
    assert.ok(checkouts.length > 0)
    assert.ok(checkouts.every(step => step.with?.['persist-credentials'] === false))
  })

  it('ends a run that a newer one has overtaken, and one that hangs', () => {
    assert.match(workflow.concurrency.group, /github\.ref/)
    assert.equal(workflow.concurrency['cancel-in-progress'], true)
    assert.ok(jobs.every(job => job['timeout-minutes'] !== undefined))
  })
})
