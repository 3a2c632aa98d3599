import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { chmod, mkdir, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { ANYONE } from '../../../../src/access/caller.ts'
import { type JsonObject } from '../../../../src/base/json.ts'
import { type OperatorFile, type Workspace } from '../../../../src/config/operator.ts'
import { Executors } from '../../../../src/exec/executors.ts'
import { commitIn, workspaceLocks } from '../../../../src/service/sessions/perform-files.ts'
import { type CommitEffect } from '../../../../src/session/model.ts'
import { type Outcome } from '../../../../src/session/effects.ts'
import { type Session } from '../../../../src/session/session.ts'
import { createTemporaryFolder } from '../../../helpers/temporary-folder.ts'

const EFFECT: CommitEffect = { id: '7.0', kind: 'commit', workspace: 'shop', paths: ['a.js'], message: 'Mend a', timeout: 60_000 }

/** A repository with `a.js` and `b.js`, both changed since. */
async function repository (t: TestContext, { mayCommit = true } = {}) {
  const folder = await createTemporaryFolder()
  t.after(folder.remove)
  const path = join(folder.path, 'shop')
  const git = (...words: string[]): string => execFileSync('git', ['-C', path, ...words], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
  const write = async (name: string, text: string): Promise<void> => {
    await mkdir(dirname(join(path, name)), { recursive: true })
    await writeFile(join(path, name), text)
  }
  await write('a.js', 'a\n')
  await write('b.js', 'b\n')
  git('init', '--quiet')
  git('config', 'user.name', 'Ann')
  git('config', 'user.email', 'ann@example.com')
  git('add', '.')
  git('commit', '--quiet', '-m', 'First')
  await write('a.js', 'changed\n')
  await write('b.js', 'changed\n')
  const workspace: Workspace = { name: 'shop', path, hasSkills: false, confirm: 'deletions', mayCommit, checks: new Map(), logs: new Map() }
  const operator: OperatorFile = { workspaces: new Map([['shop', workspace]]), targets: new Map(), rules: [] }
  const executors = new Executors({ operator, environment: process.env, secrets: [], mayRunAsRoot: true, log: { debug () {}, info () {}, warn () {}, error () {} } })
  t.after(() => executors.close())
  const perform = commitIn(executors, operator, workspaceLocks())
  return {
    path,
    git,
    write,
    commit: (change: Partial<CommitEffect> = {}): Promise<Outcome> =>
      perform({ session: { id: 'f'.repeat(32) } as Session, effect: { ...EFFECT, ...change }, caller: ANYONE, signal: new AbortController().signal, activity: undefined, publish () {} })
  }
}

const codeOf = (outcome: Outcome): string => outcome.kind === 'failure' ? outcome.code : outcome.kind

describe('a commit', () => {
  it('has only the paths of the change, its message and a trailer', async t => {
    const { git, commit } = await repository(t)
    const outcome = await commit()
    assert.equal(codeOf(outcome), 'result', JSON.stringify(outcome))
    assert.deepEqual((outcome as { result: JsonObject }).result, { hash: git('rev-parse', 'HEAD').trim() })
    assert.equal(git('log', '-1', '--format=%B').trim(), `Mend a\n\nSession: ${'f'.repeat(32)}/7.0`)
    assert.equal(git('show', '--name-only', '--format=').trim(), 'a.js')
    assert.equal(git('status', '--porcelain').trim(), 'M b.js')
  })

  it('is made once for one effect', async t => {
    const { git, commit } = await repository(t)
    const [first, second] = [await commit(), await commit()]
    assert.deepEqual(second, first)
    assert.equal(git('rev-list', '--count', 'HEAD').trim(), '2')
  })

  it('has files that are new, and those that are gone', async t => {
    const { git, write, commit, path } = await repository(t)
    await write('lib/new.js', 'new\n')
    await write('lib/other.js', 'of somebody else\n')
    await rm(join(path, 'b.js'))
    assert.equal(codeOf(await commit({ paths: ['b.js', 'lib/new.js'] })), 'result')
    assert.equal(git('show', '--name-status', '--format=').trim(), 'D\tb.js\nA\tlib/new.js')
    assert.equal(git('status', '--porcelain').trim(), 'M a.js\n?? lib/other.js')
  })

  it('leaves what is staged of other files staged', async t => {
    const { git, commit } = await repository(t)
    git('add', 'b.js')
    await commit()
    assert.equal(git('status', '--porcelain').trim(), 'M  b.js')
  })

  it('takes no path for an option or a pattern, and no message for a command', async t => {
    const { git, write, commit } = await repository(t)
    await write('--amend', 'x\n')
    await write('*.js', 'x\n')
    assert.equal(codeOf(await commit({ paths: ['--amend', '*.js'], message: '--amend `touch owned` $(touch owned)\n# not a comment' })), 'result')
    assert.equal(git('show', '--name-only', '--format=').trim(), '*.js\n--amend')
    assert.match(git('log', '-1', '--format=%B'), /^--amend `touch owned` \$\(touch owned\)\n# not a comment\n/)
    assert.equal(git('rev-list', '--count', 'HEAD').trim(), '2')
    assert.doesNotMatch(git('status', '--porcelain'), /owned/)
  })

  it('leaves the index as it was where a hook refuses it', async t => {
    const { git, write, commit, path } = await repository(t)
    await write('.git/hooks/pre-commit', '#!/bin/sh\necho no luck >&2\nexit 1\n')
    await chmod(join(path, '.git/hooks/pre-commit'), 0o755)
    await write('new.js', 'new\n')
    const before = git('status', '--porcelain')
    const outcome = await commit({ paths: ['a.js', 'new.js'] })
    assert.equal(codeOf(outcome), 'COMMIT_FAILED')
    assert.match((outcome as { message: string }).message, /no luck/)
    assert.equal(git('status', '--porcelain'), before)
  })

  it('runs hooks in the sandbox of checks', async t => {
    const { write, commit, path } = await repository(t)
    await write('.git/hooks/pre-commit', '#!/bin/sh\n(echo x > /etc/aps-owned) 2>/dev/null && exit 7\nexit 0\n')
    await chmod(join(path, '.git/hooks/pre-commit'), 0o755)
    assert.equal(codeOf(await commit()), 'result')
  })

  it('leaves the index as git commit does where a hook formats', async t => {
    const { git, commit, path, write } = await repository(t)
    await write('.git/hooks/pre-commit', '#!/bin/sh\nfor file in a.js lib/new.js; do echo formatted >> $file; git add $file; done\necho note > note.md; git add note.md\n')
    await chmod(join(path, '.git/hooks/pre-commit'), 0o755)
    await write('lib/new.js', 'new\n')
    assert.equal(codeOf(await commit({ paths: ['a.js', 'lib/new.js'] })), 'result')
    assert.equal(git('show', 'HEAD:a.js'), 'changed\nformatted\n')
    assert.equal(git('status', '--porcelain'), ' M b.js\n')
  })

  it('says what it leaves out, and why', async t => {
    const { git, commit, path, write } = await repository(t)
    await write('.gitignore', 'secret.md\n')
    for (const name of ['sub', 'own']) {
      await write(`${name}/x`, '1\n')
      for (const words of [['init', '--quiet'], ['config', 'user.name', 'Ann'], ['config', 'user.email', 'ann@example.com'], ['add', '.'], ['commit', '--quiet', '-m', 'First']]) execFileSync('git', ['-C', join(path, name), ...words])
    }
    git('add', 'sub')
    git('commit', '--quiet', '-m', 'Second')
    for (const name of ['secret.md', 'sub/x', 'own/x']) await write(name, '2\n')
    const paths = ['a.js', 'secret.md', 'sub/x', 'own/x', 'gone.js']
    const outcome = await commit({ paths })
    const unknown = 'unknown to git: gone, or in a repository of its own'
    const leftOut = [{ path: 'secret.md', reason: 'ignored' }, { path: 'sub/x', reason: 'in the submodule sub' }, { path: 'own/x', reason: unknown }, { path: 'gone.js', reason: unknown }]
    assert.deepEqual(outcome, { kind: 'result', result: { hash: git('rev-parse', 'HEAD').trim(), leftOut } })
    assert.equal(git('show', '--name-only', '--format=').trim(), 'a.js')
    assert.deepEqual(await commit({ id: '9.0', paths: ['secret.md'] }), { kind: 'failure', code: 'COMMIT_FAILED', message: 'git takes nothing of what was changed: secret.md (ignored)' })
  })

  it('has nothing where git ignores all that was changed', async t => {
    const { write, commit } = await repository(t)
    await write('.gitignore', 'secret.md\n')
    await write('secret.md', 'x\n')
    assert.equal(codeOf(await commit({ paths: ['secret.md'] })), 'COMMIT_FAILED')
  })

  it('fails where nothing has changed, and where there is no repository', async t => {
    const { commit, path } = await repository(t)
    await commit()
    assert.equal(codeOf(await commit({ id: '9.0' })), 'COMMIT_FAILED')
    await rm(join(path, '.git'), { recursive: true })
    assert.equal(codeOf(await commit({ id: '10.0' })), 'COMMIT_FAILED')
  })

  it('is the first of a repository without one', async t => {
    const { git, commit, path } = await repository(t)
    await rm(join(path, '.git'), { recursive: true })
    git('init', '--quiet')
    git('config', 'user.name', 'Ann')
    git('config', 'user.email', 'ann@example.com')
    assert.equal(codeOf(await commit()), 'result')
    assert.equal(git('show', '--name-only', '--format=').trim(), 'a.js')
  })

  it('is refused where the operator allows none by now', async t => {
    const { git, commit } = await repository(t, { mayCommit: false })
    assert.equal(codeOf(await commit()), 'COMMIT_DISABLED')
    assert.equal(git('rev-list', '--count', 'HEAD').trim(), '1')
  })
})
