import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { parse } from 'yaml'
import { createTemporaryFolder } from '../helpers/temporary-folder.ts'

interface Step { readonly uses?: string, readonly run?: string, readonly with?: Readonly<Record<string, unknown>> }
interface Job {
  readonly steps: readonly Step[]
  readonly 'timeout-minutes'?: number
  readonly permissions?: object
  readonly strategy?: { readonly matrix: { readonly node: readonly number[] } }
  readonly services?: { readonly redis: { readonly options: string } }
}

const text = readFileSync('.github/workflows/ci.yml', 'utf8')
const release = readFileSync('.github/workflows/release.yml', 'utf8')
const workflow = parse(text) as { permissions: object, concurrency: { readonly group: string, readonly 'cancel-in-progress': boolean }, jobs: Record<string, Job> }
const jobs = Object.values(workflow.jobs)
const steps = jobs.flatMap(job => job.steps)

/** The commits of the actions that a workflow uses, each with its version. */
const usesOf = (workflow: string) => Array.from(workflow.matchAll(/uses: (.*)/g), ([, action = '']) => action)

describe('the workflow of each push', () => {
  it('runs what .ci/run runs, on Node 20, 22 and 24, beside a healthy Redis', () => {
    const [test] = jobs.filter(job => job.steps.some(step => step.run === 'bash .ci/run'))
    assert.deepEqual(test?.strategy?.matrix.node, [20, 22, 24])
    assert.match(test.services?.redis.options ?? '', /--health-cmd "redis-cli ping"/)
  })

  it('pins every action to a commit and says which version that is', () => {
    const actions = usesOf(text)
    assert.equal(actions.length, steps.filter(step => step.uses !== undefined).length)
    for (const action of [...actions, ...usesOf(release)]) assert.match(action, /^[\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/)
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

describe('the workflow of a release', () => {
  const { on, permissions, jobs } = parse(release) as { on: object, permissions: object, jobs: Record<'package' | 'image', Job & { needs?: string }> }
  const runOf = (job: Job) => job.steps.map(({ run = '' }) => run).join('\n')

  it('is started by a tag alone', () => {
    assert.deepEqual(on, { push: { tags: ['v*'] } })
  })

  it('publishes a package that was checked and has its provenance', () => {
    const run = runOf(jobs.package)
    assert.ok(run.indexOf('bash .ci/run') < run.indexOf('npm run --silent pack'))
    assert.match(run, /npm publish \S+\.tgz --provenance/)
  })

  it('names its repository in the package before it packs it, without which there is no provenance', async t => {
    const { steps } = jobs.package
    const at = steps.findIndex(({ run = '' }) => run.startsWith('npm pkg set'))
    assert.ok(steps.findIndex(({ run }) => run === 'bash .ci/run') < at && at < steps.findIndex(({ run }) => run === 'npm run --silent pack'))
    const folder = await createTemporaryFolder()
    t.after(folder.remove)
    await folder.write('package.json', '{}')
    execFileSync('bash', ['-c', steps[at]?.run ?? ''], { cwd: folder.path, env: { PATH: process.env['PATH'], GITHUB_SERVER_URL: 'https://github.com', GITHUB_REPOSITORY: 'owner/name' } })
    assert.deepEqual(JSON.parse(await readFile(join(folder.path, 'package.json'), 'utf8')), { repository: { type: 'git', url: 'git+https://github.com/owner/name.git' } })
  })

  it('publishes the image after the package, for both processors, with a bill of materials and a signature', () => {
    assert.equal(jobs.image.needs, 'package')
    assert.match(runOf(jobs.image), /--platform linux\/amd64,linux\/arm64 --sbom=true --provenance=mode=max/)
    assert.ok(jobs.image.steps.some(({ uses }) => uses?.startsWith('actions/attest-build-provenance@')))
  })

  it('may write only where it publishes', () => {
    assert.deepEqual(permissions, { contents: 'read' })
    assert.deepEqual([jobs.package.permissions, jobs.image.permissions], [{ contents: 'read', 'id-token': 'write' }, { contents: 'read', packages: 'write', 'id-token': 'write', attestations: 'write' }])
  })

  it('reads back every label that the Dockerfile sets', () => {
    const set = Array.from(readFileSync('Dockerfile', 'utf8').matchAll(/org\.opencontainers\.image\.([\w.]+)=/g), ([, label]) => label)
    const [, read = ''] = /for label in (.*); do/.exec(release) ?? []
    assert.deepEqual(set, read.split(' '))
  })
})
