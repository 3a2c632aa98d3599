import assert from 'node:assert/strict'
import { mkdir, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { ANYONE } from '../../../../src/access/caller.ts'
import { type JsonObject } from '../../../../src/base/json.ts'
import { type OperatorFile, type Workspace } from '../../../../src/config/operator.ts'
import { Executors } from '../../../../src/exec/executors.ts'
import { Workspaces } from '../../../../src/files/workspaces.ts'
import type { ActiveEffect, Outcome } from '../../../../src/session/effects.ts'
import { type CheckEffect, type ExecEffect, type ReadEffect } from '../../../../src/session/model.ts'
import { type Session } from '../../../../src/session/session.ts'
import { runChecksIn, runCommandsOn } from '../../../../src/service/sessions/perform-commands.ts'
import { changeFilesIn, readFilesOf, workspaceLocks } from '../../../../src/service/sessions/perform-files.ts'
import { type Perform, type Performing } from '../../../../src/service/sessions/performer.ts'
import { createTemporaryFolder } from '../../../helpers/temporary-folder.ts'

const EXEC: ExecEffect = { id: '1.1', kind: 'exec', target: 'here', command: 'echo a', origin: 'model', timeout: 60_000 }

describe('an effect that runs a command', () => {
  it('has as its result how the command ended', async t => {
    const { operator, executors, path } = await offering(t)
    await mkdir(join(path, 'sub'))
    const outcome = await doing(runCommandsOn(executors, operator, workspaceLocks()), { ...EXEC, command: 'echo a; echo b >&2; exit 3', cwd: join(path, 'sub') })
    const { durationMs, ...result } = (outcome as { result: JsonObject }).result
    assert.equal(typeof durationMs, 'number')
    assert.deepEqual(result, { outcome: 'exited', exitCode: 3, stdout: 'a\n', stderr: 'b\n', cwd: join(path, 'sub'), command: 'echo a; echo b >&2; exit 3' })
  })

  const refused: ReadonlyArray<readonly [string, Partial<ExecEffect>, string, RegExp]> = [
    ['on a target that is not offered', { target: 'there' }, 'TARGET_UNKNOWN', /offers no target "there"/],
    ['on a target that every object has', { target: 'constructor' }, 'TARGET_UNKNOWN', /offers no target "constructor"/],
    ['in a folder outside of the workspace', { cwd: '/' }, 'FOLDER_INVALID', /got "\/"/]
  ]
  for (const [what, change, code, message] of refused) {
    it(`runs nothing ${what}`, async t => {
      const { operator, executors } = await offering(t)
      const outcome = await doing(runCommandsOn(executors, operator, workspaceLocks()), { ...EXEC, ...change })
      assert.equal(outcome.kind === 'failure' && outcome.code, code)
      assert.match((outcome as { message: string }).message, message)
    })
  }

  it('keeps 64 KiB of each stream', async t => {
    const { operator, executors } = await offering(t)
    const outcome = await doing(runCommandsOn(executors, operator, workspaceLocks()), { ...EXEC, command: 'head -c 10000000 /dev/zero | tr "\\0" x; echo end' })
    const { stdout } = (outcome as { result: JsonObject }).result as { stdout: string }
    assert.match(stdout, /^x{39321}\n\.\.\.\[TRUNCATED 9934468 bytes\]\.\.\.\nx+end\n$/)
    assert.equal(stdout.length < 66_000, true)
  })

  it('tells what the command prints, as it comes, and within a bound', async t => {
    const { operator, executors } = await offering(t)
    const live: JsonObject[] = []
    await doing(runCommandsOn(executors, operator, workspaceLocks()), { ...EXEC, command: 'echo a; echo b >&2' }, { publish: part => { live.push(part) } })
    const byStream = (one: JsonObject, other: JsonObject) => String(other['stream']).localeCompare(String(one['stream']))
    assert.deepEqual(live.sort(byStream), [{ type: 'command.output', effect: '1.1', stream: 'stdout', text: 'a\n' }, { type: 'command.output', effect: '1.1', stream: 'stderr', text: 'b\n' }])
    const flood: JsonObject[] = []
    await doing(runCommandsOn(executors, operator, workspaceLocks()), { ...EXEC, command: 'head -c 50000000 /dev/zero' }, { publish: part => { flood.push(part) } })
    const text = flood.map(part => part['text']).join('')
    assert.equal(text.length, 256 * 1024 + '\n...[TRUNCATED]...\n'.length)
  })

  it('is ended when nobody wants it any more', async t => {
    const { operator, executors } = await offering(t)
    const controller = new AbortController()
    const outcome = await doing(runCommandsOn(executors, operator, workspaceLocks()), { ...EXEC, command: 'echo ready; sleep 1000' }, { signal: controller.signal, publish: () => { controller.abort() } })
    assert.equal((outcome as { result: JsonObject }).result['outcome'], 'cancelled')
  })
})

describe('an effect that runs a check', () => {
  const CHECK: CheckEffect = { id: '1.1', kind: 'check', workspace: 'shop', check: 'test', timeout: 60_000 }

  it('runs what the operator has named so', async t => {
    const { operator, executors, path } = await offering(t)
    const outcome = await doing(runChecksIn(executors, operator, workspaceLocks()), CHECK)
    const { durationMs, ...result } = (outcome as { result: JsonObject }).result
    assert.deepEqual(result, { outcome: 'exited', exitCode: 1, stdout: 'checked\n', stderr: '', cwd: path, command: 'echo checked; false' })
  })

  for (const change of [{ check: 'lint' }, { workspace: 'other' }, { check: 'constructor' }]) {
    it(`runs nothing for ${JSON.stringify(change)}`, async t => {
      const { operator, executors } = await offering(t)
      const outcome = await doing(runChecksIn(executors, operator, workspaceLocks()), { ...CHECK, ...change })
      assert.equal(outcome.kind === 'failure' && outcome.code, 'CHECK_UNKNOWN')
    })
  }
})

describe('an effect that reads from a target', () => {
  it('gives the files that are there, and may be read', async t => {
    const { executors, folder, path } = await offering(t)
    await folder.write('a.md', 'text')
    await folder.write('large', 'x'.repeat(256 * 1024 + 1))
    await symlink('/etc/passwd', join(path, 'link'))
    const effect: ReadEffect = { id: '1.1', kind: 'read', from: { target: 'here' }, requests: [{ path: './a.md' }, { path: 'none' }, { path: 'large' }, { path: 'link' }, { path: 5 }, {}], timeout: 5000 }
    const read = readFilesOf(executors, async () => await Promise.reject(new Error('no workspace is read here')))
    assert.deepEqual(await doing(read, effect), { kind: 'result', result: { files: [{ path: './a.md', text: 'text' }] } })
    const unknown = await doing(read, { ...effect, from: { target: 'there' } })
    assert.equal(unknown.kind === 'failure' && unknown.code, 'TARGET_UNKNOWN')
  })
})

describe('a command and a change of files of one workspace', () => {
  it('wait for each other', async t => {
    const { operator, executors, folder, path } = await offering(t)
    const state = await createTemporaryFolder()
    t.after(state.remove)
    const lockOf = workspaceLocks()
    const apply = changeFilesIn(async () => new Workspaces(operator, state.path), lockOf)
    const change = { do: { actions: [{ kind: 'CREATE_FILE', path: 'b.md', content: 'b' }] } }
    // The command ends when somebody makes the file `go`, and looks for what the change would have made.
    const command = 'echo begun; while [ ! -e go ]; do sleep 0.01; done; ls b.md 2>/dev/null || echo nothing yet'
    let applying: Promise<Outcome> | undefined
    const ran = await doing(runCommandsOn(executors, operator, lockOf), { ...EXEC, command }, {
      publish () {
        applying ??= doing(apply, { id: '2.1', kind: 'apply', workspace: 'shop', change, deletes: false, timeout: 60_000 })
        void folder.write('go', '')
      }
    })
    assert.match(String((ran as { result: JsonObject }).result['stdout']), /nothing yet\n$/)
    assert.equal((await applying)?.kind, 'result')
    const after = await doing(runCommandsOn(executors, operator, lockOf), { ...EXEC, command: `cat ${path}/b.md` })
    assert.equal((after as { result: JsonObject }).result['stdout'], 'b')
  })

  it('do not wait longer than they may', async t => {
    const { operator } = await offering(t)
    const lockOf = workspaceLocks()
    const apply = changeFilesIn(async () => new Workspaces(operator, '/nowhere'), lockOf)
    // A timeout alone keeps no process alive.
    const alive = setInterval(() => {}, 60_000)
    t.after(() => { clearInterval(alive) })
    await lockOf('shop').beside(new AbortController().signal, async () => {
      const outcome = await doing(apply, { id: '2.1', kind: 'apply', workspace: 'shop', change: {}, deletes: false, timeout: 1 })
      assert.deepEqual(outcome, { kind: 'failure', code: 'WORKSPACE_BUSY', message: 'a command is running in the workspace' })
    })
  })
})

async function offering (t: TestContext) {
  const folder = await createTemporaryFolder()
  t.after(folder.remove)
  const { path } = folder
  const workspace: Workspace = { name: 'shop', path, hasSkills: false, mayCommit: false, confirm: 'deletions', checks: new Map([['test', 'echo checked; false']]), logs: new Map() }
  const operator: OperatorFile = {
    workspaces: new Map([['shop', workspace]]),
    targets: new Map([['here', { type: 'local', name: 'here', workspace, sandbox: 'off', hasNetwork: false, mayRunUnasked: false, environment: [] }]]),
    rules: [{ effect: 'deny', command: 'rm *' }]
  }
  const executors = new Executors({ operator, environment: process.env, secrets: [], mayRunAsRoot: true, log: { debug () {}, info () {}, warn () {}, error () {} } })
  t.after(() => executors.close())
  return { operator, executors, folder, path }
}

/** Does one effect. Its performers look at nothing else of its session. */
async function doing<E extends ActiveEffect> (perform: Perform<E>, effect: E, change: Partial<Performing<E>> = {}): Promise<Outcome> {
  return await perform({ session: {} as Session, effect, caller: ANYONE, signal: new AbortController().signal, activity: undefined, publish: () => {}, ...change })
}
