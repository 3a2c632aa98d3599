import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { after, before, describe, it } from 'node:test'
import { type JsonObject } from '../../../src/base/json.ts'
import pLimit from 'p-limit'
import { type ChangeOutcome } from '../../../src/files/change/journal.ts'
import { bundleProcess } from '../../helpers/bundle-process.ts'
import { createTemporaryFolder, type TemporaryFolder } from '../../helpers/temporary-folder.ts'
import { createWorkspace, hashOf, treeOf, type TestWorkspace, type Tree } from '../change/workspace.ts'
import { type CrashPlan } from './child.ts'

/** How many runs in all; those beyond one for each call kill the process that recovers, too. */
const RUNS = Number(process.env['FILES_CRASH_RUNS'] ?? 60)

const ACTIONS: JsonObject[] = [
  { kind: 'CREATE_FILE', path: 'new/deep/a.md', content: 'created\r\n' },
  { kind: 'UPDATE_FILE', path: 'run.sh', content: 'updated' },
  { kind: 'DELETE_FILE', path: 'gone.md' },
  { kind: 'DELETE_DIR', path: 'old' }
]

const limit = pLimit(2)

describe('A process that is killed while it changes files', { concurrency: true }, () => {
  let folder: TemporaryFolder
  let child: string
  let origin: TestWorkspace
  let change: CrashPlan['change']
  let cases = 0

  before(async () => {
    folder = await createTemporaryFolder()
    origin = await createWorkspace()
    await origin.put('run.sh', 'old\r\n', 0o750)
    await origin.put('gone.md', 'gone')
    await origin.put('old/sub/b.md', 'b', 0o600)
    await origin.put('old/c.md', 'c')
    change = { do: { actions: ACTIONS, bases: { 'run.sh': await hashOf(join(origin.root, 'run.sh')) }, eol: 'keep' } }
    child = await bundleProcess(new URL('child.ts', import.meta.url), folder.path)
  })
  after(async () => {
    await folder.remove()
    await origin.remove()
  })

  async function place (): Promise<{ readonly root: string, readonly journal: string }> {
    const at = join(folder.path, `case-${++cases}`)
    await cp(origin.root, join(at, 'shop'), { recursive: true, preserveTimestamps: true })
    return { root: join(at, 'shop'), journal: join(at, 'journal') }
  }

  /** @returns what it printed, or the signal that ended it */
  async function run (plan: CrashPlan): Promise<{ readonly outcome: ChangeOutcome, readonly calls: number } | string> {
    const started = spawn(process.execPath, [child, JSON.stringify(plan)], { stdio: ['ignore', 'pipe', 'inherit'] })
    const [printed, [, signal]] = await Promise.all([text(started.stdout), once(started, 'exit') as Promise<[number | null, string | null]>])
    return signal ?? JSON.parse(printed) as { outcome: ChangeOutcome, calls: number }
  }

  async function trees (kind: 'do' | 'undo'): Promise<{ readonly calls: number, readonly before: Tree, readonly after: Tree }> {
    const at = await place()
    if (kind === 'undo') await run({ ...at, effect: '1.0', change })
    const before = await treeOf(at.root)
    const whole = await run({ ...at, effect: '2.0', change: kind === 'do' ? change : { undo: {} } })
    assert.ok(typeof whole === 'object' && whole.outcome.kind === 'result', JSON.stringify(whole))
    return { calls: whole.calls, before, after: await treeOf(at.root) }
  }

  for (const kind of ['do', 'undo'] as const) {
    for (const hasForeign of [false, true]) {
      it(`leaves the tree as before or as after${hasForeign ? ', or names what somebody else has changed' : ''}: ${kind}, ${Math.ceil(RUNS / 4)} runs`, async () => {
        const known = await trees(kind)
        const step = Math.max(1, known.calls / Math.ceil(RUNS / 4))
        await Promise.all(Array.from({ length: Math.ceil(RUNS / 4) }, (_, index) => limit(async () => {
          const at = await place()
          if (kind === 'undo') await run({ ...at, effect: '1.0', change })
          const plan = { ...at, effect: '2.0', change: kind === 'do' ? change : { undo: {} } }
          const call = Math.floor(index * step) % known.calls + 1
          const name = `${kind} killed at call ${call} of ${known.calls}`
          assert.equal(await run({ ...plan, at: call }), 'SIGKILL', name)
          const isTwice = Math.floor(index * step) >= known.calls
          if (isTwice) await run({ ...plan, at: index % 20 + 1 })
          const mine = await treeOf(at.root)
          const hasRun = hasForeign && Object.hasOwn(mine, 'run.sh')
          if (hasRun) await writeFile(join(at.root, 'run.sh'), 'foreign')
          const ended = await run(plan)
          assert.ok(typeof ended === 'object', name)
          const tree = await treeOf(at.root)
          if (!hasForeign) {
            assert.equal(ended.outcome.kind, 'result', `${name}: ${JSON.stringify(ended.outcome)}`)
            assert.deepEqual(tree, known.after, name)
          } else {
            assert.equal(tree['run.sh']?.endsWith(`7 ${await hashOf(join(at.root, 'run.sh'))}`), true, name)
            const { 'run.sh': foreign, ...rest } = tree
            const { 'run.sh': old, ...before } = known.before
            const { 'run.sh': late, ...afterwards } = known.after
            const said = JSON.stringify(ended.outcome)
            // The change that was not begun yet, or had ended, before the foreign one came is told of otherwise.
            assert.deepEqual(rest, ended.outcome.kind === 'result' && !said.includes('conflicts') ? afterwards : before, `${name}: ${said}`)
            if (ended.outcome.kind === 'failure') assert.match(said, /run\.sh/, name)
          }
          assert.deepEqual((await readdir(at.journal)).filter(file => file.endsWith('.open')), [], name)
        })))
      })
    }
  }

  it(`puts everything back when a call fails, in ${Math.ceil(RUNS / 2)} runs`, async () => {
    const known = await trees('do')
    const step = Math.max(1, known.calls / Math.ceil(RUNS / 2))
    const codes = new Set<string>()
    await Promise.all(Array.from({ length: Math.ceil(RUNS / 2) }, (_, index) => limit(async () => {
      const at = await place()
      const call = Math.floor(index * step) % known.calls + 1
      const plan = { ...at, effect: '2.0', change }
      const ended = await run({ ...plan, at: call, fails: true })
      const name = `call ${call} of ${known.calls}: ${JSON.stringify(ended)}`
      assert.ok(typeof ended === 'object', name)
      const { outcome } = ended
      if (outcome.kind === 'failure') codes.add(outcome.code)
      // The journal's last word could not be written: the change is done, and whoever asks again is told so.
      const again = outcome.kind === 'failure' && outcome.code === 'THROWN' ? await run(plan) : undefined
      assert.ok(again === undefined || (typeof again === 'object' && again.outcome.kind === 'result'), `${name}: ${JSON.stringify(again)}`)
      assert.deepEqual(await treeOf(at.root), outcome.kind === 'result' || again !== undefined ? known.after : known.before, name)
    })))
    assert.ok(codes.has('APPLY_FAILED_ROLLED_BACK') && codes.has('SNAPSHOT_FAILED'), [...codes].join())
  })
})
