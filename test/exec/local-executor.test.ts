import assert from 'node:assert/strict'
import { access, link as hardLink, mkdir, realpath, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { type CommandOptions } from '../../src/exec/executor.ts'
import { environmentOf, LocalExecutor, type LocalExecutorOptions } from '../../src/exec/local-executor.ts'
import { createTemporaryFolder } from '../helpers/temporary-folder.ts'
import { isAlive, readPid, untilDead } from '../helpers/processes.ts'

describe('a command on this machine', () => {
  it('tells its exit code, what it printed and where it ended', async t => {
    const { executor, path } = await executorIn(t)
    const { durationMs, ...ran } = await executor.run('mkdir a; cd a; echo out; echo err >&2; exit 7', forever())
    assert.deepEqual(ran, { outcome: 'exited', exitCode: 7, stdout: 'out\n', stderr: 'err\n', cwd: join(path, 'a') })
    assert.equal(Number.isInteger(durationMs), true)
  })

  it('begins where the one before it ended', async t => {
    const { executor, path } = await executorIn(t)
    const { cwd } = await executor.run('mkdir -p a/b && cd a/b', forever())
    assert.equal((await executor.run('pwd', forever({ cwd }))).stdout, `${path}/a/b\n`)
  })

  it('begins nowhere outside of its workspace', async t => {
    const { executor, path } = await executorIn(t)
    await symlink('/', join(path, 'out'))
    for (const cwd of ['/', '..', join(path, '..'), join(path, 'out'), join(path, 'nowhere'), `${path}-beside`]) {
      await assert.rejects(executor.run('pwd', forever({ cwd })), { name: 'ExecutorError', code: 'FOLDER_INVALID' }, cwd)
    }
  })

  it('does not take the next one with it when it leaves its workspace', async t => {
    const { executor, path } = await executorIn(t)
    await mkdir(join(path, 'a'))
    assert.equal((await executor.run('cd /', forever({ cwd: join(path, 'a') }))).cwd, join(path, 'a'))
  })

  const shells: ReadonlyArray<readonly [string, string, number | null, string]> = [
    ['chains', 'false || echo a && echo b', 0, 'a\nb\n'],
    ['takes several lines', 'for x in 1 2\ndo\n echo $x\ndone', 0, '1\n2\n'],
    ['takes a here-document', 'cat <<X\na\nX', 0, 'a\n'],
    ['waits for its own jobs, and not for the watcher', 'sleep 0.05 & wait; echo done', 0, 'done\n'],
    ['has nothing to read', 'cat; echo $?', 0, '0\n'],
    ['has a syntax error', 'echo a; if', 2, ''],
    ['tells a signal as shells do', 'sh -c \'kill -9 $$\'', 137, ''],
    ['may become another program', 'exec echo a', 0, 'a\n'],
    ['may end its own group', 'echo a; kill -9 0', null, 'a\n']
  ]
  for (const [what, command, exitCode, stdout] of shells) {
    it(`${what}: ${JSON.stringify(command)}`, async t => {
      const { executor } = await executorIn(t)
      const ran = await executor.run(command, forever())
      assert.deepEqual([ran.outcome, ran.exitCode, ran.stdout], ['exited', exitCode, stdout], ran.stderr)
    })
  }

  it('that a signal ends has no word of the shell around it in its output', async t => {
    const { executor } = await executorIn(t)
    for (const signal of [9, 15]) assert.equal((await executor.run(`kill -${signal} $$`, forever())).stderr, '')
  })

  it('leaves nothing in the background behind', async t => {
    const { executor, path } = await executorIn(t)
    const ran = await executor.run('sh -c \'trap "" TERM HUP; echo $$ > pid; sleep 1000\' & while [ ! -s pid ]; do sleep 0.01; done', forever())
    assert.equal(ran.exitCode, 0)
    await untilDead(await readPid(join(path, 'pid')))
  })

  const ends: ReadonlyArray<readonly ['timeout' | 'cancelled', string, string]> = [
    ['timeout', 'that ends at SIGTERM', 'SIGTERM'],
    ['timeout', 'that ignores SIGTERM', 'SIGKILL'],
    ['cancelled', 'that ends at SIGTERM', 'SIGTERM'],
    ['cancelled', 'that ignores SIGTERM', 'SIGKILL']
  ]
  for (const [outcome, what, signal] of ends) {
    it(`${what} is gone with its grandchildren when it is ended as ${outcome}`, async t => {
      const { executor, path } = await executorIn(t)
      const ignore = signal === 'SIGKILL' ? 'trap "" TERM; ' : ''
      const controller = new AbortController()
      const command = `${ignore}sh -c '${ignore}sh -c "echo \\$\\$ > inner; exec sleep 1000" & echo $$ > outer; wait' & while [ ! -s inner ] || [ ! -s outer ]; do sleep 0.01; done; echo ready; wait`
      const options = outcome === 'timeout' ? { timeout: 1500 } : { signal: controller.signal, onOutput: () => { controller.abort() } }
      const ran = await executor.run(command, forever(options))
      // Nothing of what the shells around it say of their ends, either.
      assert.deepEqual([ran.outcome, ran.exitCode, ran.signal, ran.stdout, ran.stderr], [outcome, null, signal, 'ready\n', ''])
      for (const name of ['inner', 'outer']) await untilDead(await readPid(join(path, name)))
      assert.equal(ran.durationMs < 6000, true, `${ran.durationMs} ms`)
    })
  }

  it('is not begun when nobody wants it any more', async t => {
    const { executor } = await executorIn(t)
    const ran = await executor.run('sleep 1000', forever({ signal: AbortSignal.abort() }))
    assert.equal(ran.outcome, 'cancelled')
  })

  it('may print 1 GB, of which the beginning and the end are kept', async t => {
    const { executor } = await executorIn(t)
    const before = process.memoryUsage().rss
    let seen = 0
    const ran = await executor.run('echo first; head -c 1000000000 /dev/zero; echo last', forever({ onOutput: (_stream, text) => { seen += text.length } }))
    assert.equal(ran.exitCode, 0)
    assert.equal(seen, 1_000_000_011)
    assert.match(ran.stdout, /^first\n\0+\n\.\.\.\[TRUNCATED 998951435 bytes\]\.\.\.\n\0+last\n$/)
    const grown = (process.memoryUsage().rss - before) / 2 ** 20
    t.diagnostic(`${Math.round(grown)} MiB more, ${ran.durationMs} ms`)
    assert.equal(grown < 200, true, `${grown} MiB`)
  })

  it('does not wait for a process that left its group and holds its output', async t => {
    const { executor, path } = await executorIn(t)
    const ran = await executor.run('setsid sh -c \'echo $$ > pid; exec sleep 1000\' & while [ ! -s pid ]; do sleep 0.01; done; echo done', forever())
    const pid = await readPid(join(path, 'pid'))
    t.after(() => { process.kill(pid, 'SIGKILL') })
    assert.deepEqual([ran.outcome, ran.exitCode, ran.stdout], ['exited', 0, 'done\n'])
    // What the documentation says of a target without a sandbox.
    assert.equal(isAlive(pid), true)
  })

  it('has of the service\'s environment what is listed, and nothing else', async t => {
    const service = { PATH: process.env['PATH'], HOME: '/home/x', LLM_API_KEY: 'canary', REDIS_URL: 'canary', TOOL_SECRET_A: 'canary', LISTED: 'yes', ANY: 'canary' }
    const { executor } = await executorIn(t, { environment: environmentOf(service, ['LISTED', 'ABSENT']) })
    const { stdout } = await executor.run('env', forever())
    const names = Array.from(stdout.matchAll(/^(\w+)=/gm), ([, name]) => name as string).filter(name => !['PWD', 'OLDPWD', '_', 'SHLVL'].includes(name))
    assert.deepEqual(names.sort(), ['HOME', 'LANG', 'LISTED', 'PATH', 'TERM'])
    assert.equal(stdout.includes('canary'), false)
  })

  it('is refused with a NUL, or when it is too long', async t => {
    const { executor } = await executorIn(t)
    for (const command of ['a\0b', 'x'.repeat(100_000)]) await assert.rejects(executor.run(command, forever()), { code: 'COMMAND_INVALID' })
  })

  it('ends with its executor', async t => {
    const { executor } = await executorIn(t)
    const running = executor.run('echo ready; sleep 1000', forever({ onOutput: () => { void executor.close() } }))
    assert.equal((await running).outcome, 'cancelled')
  })
})

describe('readText of a workspace', () => {
  it('gives texts of files inside it, and nothing else', async t => {
    const { executor, folder, path } = await executorIn(t)
    await folder.write('a/b.txt', 'text')
    await folder.write('large', 'x'.repeat(11))
    await folder.write('binary', Buffer.from([0xFF]))
    await symlink('/etc/passwd', join(path, 'link'))
    await executor.run('mkfifo fifo', forever())
    const read = (file: string) => executor.readText(file, 10)
    assert.deepEqual(await Promise.all(['a/b.txt', './a/b.txt', './a/../a/b.txt', 'none', 'a', 'large', 'binary', 'link', 'fifo', '/etc/hostname', '../x'].map(read)), ['text', 'text', ...Array.from({ length: 9 }, () => undefined)])
  })

  it('gives nothing that a repository links to, nor what is protected', async t => {
    const { executor, folder, path } = await executorIn(t)
    const outside = await createTemporaryFolder()
    t.after(outside.remove)
    await outside.write('ssh/id', 'canary')
    await folder.write('.env', 'canary')
    await folder.write('docs/x', 'text')
    await mkdir(join(path, '.agents'))
    const links = { 'to-env': '.env', '.agents/SKILL.md': join(outside.path, 'ssh/id'), away: outside.path, 'to-docs': 'docs/x', inner: 'docs' }
    for (const [link, target] of Object.entries(links)) await symlink(target, join(path, link))
    await hardLink(join(path, '.env'), join(path, 'hard'))
    const read = (file: string) => executor.readText(file, 10)
    assert.deepEqual(await Promise.all(['to-env', '.agents/SKILL.md', 'away/ssh/id', 'to-docs', 'hard', '.env'].map(read)), Array.from({ length: 6 }, () => undefined))
    // A folder that is linked inside of the workspace has what it has.
    assert.equal(await read('inner/x'), 'text')
  })

  it('is refused where the service is root, unless it may be', { skip: process.getuid?.() === 0 ? false : 'needs root' }, async t => {
    const { executor, path } = await executorIn(t, { mayRunAsRoot: false })
    await assert.rejects(executor.run(`touch ${path}/ran`, forever()), { code: 'ROOT_REFUSED', message: /^this service runs as root, .* set ALLOW_ROOT=true$/ })
    await assert.rejects(access(`${path}/ran`), { code: 'ENOENT' })
  })
})

function forever (options: Partial<CommandOptions> = {}): CommandOptions {
  return { timeout: 60_000, signal: new AbortController().signal, ...options }
}

async function executorIn (t: TestContext, options: Partial<LocalExecutorOptions> = {}) {
  const folder = await createTemporaryFolder()
  t.after(folder.remove)
  const path = await realpath(folder.path)
  const executor = new LocalExecutor({ workspace: path, sandbox: 'off', hasNetwork: false, environment: environmentOf(process.env, []), secrets: [], mayRunAsRoot: true, ...options })
  t.after(() => executor.close())
  return { executor, folder, path }
}
