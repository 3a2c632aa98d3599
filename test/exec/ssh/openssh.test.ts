import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { realpath, rm, symlink } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { after, before, describe, it, type TestContext } from 'node:test'
import { type SshTarget } from '../../../src/config/operator.ts'
import { type CommandOptions } from '../../../src/exec/executor.ts'
import { SshExecutor } from '../../../src/exec/ssh-executor.ts'
import { isAlive, readPid, untilDead } from '../../helpers/processes.ts'
import { noSshd, startOpenSsh, type TestSshd } from '../../helpers/sshd.ts'
import { createTemporaryFolder, type TemporaryFolder } from '../../helpers/temporary-folder.ts'
import { waitFor } from '../../helpers/wait-for.ts'

describe('a command at a real OpenSSH server', { skip: noSshd }, () => {
  let server: TestSshd
  let folder: TemporaryFolder
  let path: string
  before(async () => {
    server = await startOpenSsh()
    folder = await createTemporaryFolder()
    path = await realpath(folder.path)
  })
  after(async () => {
    await folder.remove()
    await server.stop()
  })

  function executorOf (t: TestContext, target: Partial<SshTarget> = {}, agent?: string): SshExecutor {
    const { port, user, hostKey, keyFile } = server
    const executor = new SshExecutor({ type: 'ssh', name: 't', host: '127.0.0.1', port, user, hostKey, ...(agent === undefined ? { keyFile } : {}), cwd: path, hasSkills: false, mayRunUnasked: false, ...target }, agent)
    t.after(() => executor.close())
    return executor
  }

  it('tells its exit code, what it printed and where it ended', async t => {
    const { durationMs, ...ran } = await executorOf(t).run('mkdir -p "a \'b"; cd "a \'b"; echo "it\'s"; echo err >&2; exit 7', forever())
    assert.deepEqual(ran, { outcome: 'exited', exitCode: 7, stdout: 'it\'s\n', stderr: 'err\n', cwd: join(path, 'a \'b') })
  })

  it('begins where the one before it ended', async t => {
    const executor = executorOf(t)
    const { cwd } = await executor.run('mkdir -p c && cd c', forever())
    assert.equal((await executor.run('pwd', forever({ cwd }))).stdout, `${path}/c\n`)
    await assert.rejects(executor.run('pwd', forever({ cwd: '/nowhere' })), { code: 'FOLDER_INVALID' })
  })

  it('has nothing to read, and may be killed by a signal', async t => {
    const executor = executorOf(t)
    assert.equal((await executor.run('cat; echo $?', forever())).stdout, '0\n')
    const { outcome, exitCode, stderr } = await executor.run('kill -9 $$', forever())
    assert.deepEqual([outcome, exitCode, stderr], ['exited', 137, ''])
    const all = await executor.run('kill -9 0', forever())
    assert.deepEqual([all.outcome, all.exitCode, all.signal], ['exited', null, 'SIGKILL'])
  })

  it('ends where it ended, whatever mark it finds and says', async t => {
    const marks = 'cat /proc/[0-9]*/cmdline /proc/$PPID/environ 2>/dev/null | tr "\\0" "\\n"; set; env'
    const { stdout, cwd } = await executorOf(t).run(`for mark in aps-00 $({ ${marks}; } | grep -o "aps-[0-9a-f]\\{32\\}"); do echo "$mark end /forged"; done; echo behind`, forever())
    assert.match(stdout, /^aps-00 end \/forged\n(aps-\w+ end \/forged\n)*behind\n$/)
    assert.equal(cwd, path)
  })

  it('may say on the descriptor of its report what it likes', async t => {
    const { stdout, exitCode, cwd } = await executorOf(t).run('{ echo "cwd /etc"; echo "exit no number"; echo "exit 3"; } >&3; sleep 0.1; echo behind', forever())
    assert.deepEqual([stdout.includes('begin'), typeof exitCode, cwd], [false, 'number', '/etc'])
  })

  it('is not run at a host with another key, or with a key that is not accepted', async t => {
    await assert.rejects(executorOf(t, { hostKey: `SHA256:${'a'.repeat(43)}` }).run('touch wrong', forever()), { code: 'TARGET_UNREACHABLE', message: /expected the host key SHA256:a/ })
    await assert.rejects(executorOf(t, { keyFile: server.strangerKeyFile }).run('touch wrong', forever()), { code: 'TARGET_UNREACHABLE' })
    assert.equal(await executorOf(t).readText('wrong', 10, forever().signal), undefined)
  })

  it('may log in with the key of an agent, which it does not get', async t => {
    const socket = join(path, 'agent')
    const agent = spawn('ssh-agent', ['-D', '-a', socket], { stdio: ['ignore', 'pipe', 'ignore'] })
    t.after(() => agent.kill('SIGKILL'))
    await once(agent.stdout, 'data')
    const add = spawn('ssh-add', ['-q', server.keyFile], { env: { ...process.env, SSH_AUTH_SOCK: socket }, stdio: 'ignore' })
    assert.deepEqual(await once(add, 'exit'), [0, null])
    assert.equal((await executorOf(t, {}, socket).run('echo "in $SSH_AUTH_SOCK"', forever())).stdout, 'in \n')
  })

  it('has nothing of the service\'s environment', async t => {
    const names = ['LLM_API_KEY', 'LC_CANARY', 'CANARY']
    for (const name of names) process.env[name] = 'canary'
    t.after(() => { for (const name of names) delete process.env[name] })
    assert.equal((await executorOf(t).run('env', forever())).stdout.includes('canary'), false)
  })

  for (const [outcome, ignore, signal] of [['timeout', '', 'SIGTERM'], ['timeout', 'trap "" TERM; ', 'SIGKILL'], ['cancelled', '', 'SIGTERM']] as const) {
    it(`is gone with its grandchildren when it is ended by ${signal} as ${outcome}`, async t => {
      const controller = new AbortController()
      const command = `rm -f inner outer; ${ignore}sh -c '${ignore}sh -c "echo \\$\\$ > inner; exec sleep 1000" & echo $$ > outer; wait' & while [ ! -s inner ] || [ ! -s outer ]; do sleep 0.01; done; echo ready; wait`
      const ran = await executorOf(t).run(command, forever(outcome === 'timeout' ? { timeout: 3000 } : { signal: controller.signal, onOutput: () => { controller.abort() } }))
      assert.deepEqual([ran.outcome, ran.exitCode, ran.signal, ran.stdout, ran.stderr], [outcome, null, signal, 'ready\n', ''])
      for (const name of ['inner', 'outer']) await untilDead(await readPid(join(path, name)))
    })
  }

  it('is lost when the connection is cut in the middle of its output', async t => {
    let isCut = false
    const ran = await executorOf(t).run('echo half; sleep 1000', forever({ onOutput: () => { isCut = true; server.cut() } }))
    assert.deepEqual([ran.outcome, ran.exitCode, ran.stdout, isCut], ['lost', null, 'half\n', true])
  })

  const orphans: ReadonlyArray<readonly [string, string, number]> = [
    ['that ends at SIGTERM', 'sh -c "echo \\$\\$ > inner; exec sleep 1000" & echo $$ > outer; echo ready; wait', 2000],
    ['that ignores SIGTERM, SIGHUP and SIGPIPE', 'trap "" TERM HUP PIPE; (echo ready; exec sh -c "echo \\$\\$ > inner; while :; do sleep 1; done") & echo $$ > outer; while :; do sleep 1; done', 6000],
    ['that has called setsid', 'setsid sh -c "echo \\$\\$ > inner; exec sleep 1000" & echo $$ > outer; echo ready; wait', 6000],
    ['that prints without an end', 'sh -c "echo \\$\\$ > inner; exec yes" & echo $$ > outer; wait', 6000]
  ]
  for (const [what, command, most] of orphans) {
    it(`${what} is gone with all that it has started after kill -9 of the service`, async t => {
      const { port, user, hostKey, keyFile } = server
      const target: SshTarget = { type: 'ssh', name: 't', host: '127.0.0.1', port, user, hostKey, keyFile, cwd: path, hasSkills: false, mayRunUnasked: false }
      for (const name of ['inner', 'outer']) await rm(join(path, name), { force: true })
      const service = spawn(process.execPath, ['--import', 'tsx', join(import.meta.dirname, 'lifeline-child.ts'), JSON.stringify(target), command], { stdio: ['ignore', 'pipe', 'inherit'] })
      await once(service.stdout, 'data')
      for (const name of ['inner', 'outer']) await waitFor(name, async () => await readPid(join(path, name)).catch(() => 0) > 0)
      const pids = await Promise.all(['inner', 'outer'].map(name => readPid(join(path, name))))
      service.kill('SIGKILL')
      const killed = performance.now()
      await waitFor('the end of its group', () => !pids.some(isAlive), most)
      t.diagnostic(`${Math.round(performance.now() - killed)} ms`)
    })
  }

  it('may print 1 GB, of which the beginning and the end are kept', async t => {
    const before = process.memoryUsage().rss
    const ran = await executorOf(t).run('echo first; head -c 1000000000 /dev/zero; echo last', forever({ timeout: 120_000 }))
    const grown = (process.memoryUsage().rss - before) / 2 ** 20
    t.diagnostic(`${Math.round(grown)} MiB more, ${ran.durationMs} ms`)
    assert.equal(ran.exitCode, 0)
    assert.match(ran.stdout, /^first\n\0+\n\.\.\.\[TRUNCATED 998951435 bytes\]\.\.\.\n\0+last\n$/)
    assert.equal(grown < 200, true, `${grown} MiB`)
  })

  it('may leave a daemon behind, for which nobody waits', async t => {
    const ran = await executorOf(t).run('setsid sh -c \'echo $$ > daemon; exec sleep 1000\' & while [ ! -s daemon ]; do sleep 0.01; done; echo done', forever())
    const pid = await readPid(join(path, 'daemon'))
    t.after(() => { process.kill(pid, 'SIGKILL') })
    assert.deepEqual([ran.outcome, ran.exitCode, ran.stdout, isAlive(pid)], ['exited', 0, 'done\n', true])
  })

  it('reads files by SFTP, within a limit, and names are no commands', async t => {
    const name = 'a$(touch pwned);\'"`b'
    await folder.write(name, 'text')
    await folder.write('large', 'x'.repeat(11))
    await folder.write('binary', Buffer.from([0xFF]))
    await symlink(name, join(path, 'link'))
    const executor = executorOf(t)
    await executor.run('mkfifo fifo', forever())
    const read = (file: string) => executor.readText(file, 10, AbortSignal.timeout(5000))
    assert.deepEqual(await Promise.all([name, `./${name}`].map(read)), ['text', 'text'])
    const nothing = ['link', 'pwned', 'none', '.', 'large', 'binary', 'fifo', '~/nowhere/x', join(path, name), `../${basename(path)}/${name}`]
    assert.deepEqual(await Promise.all(nothing.map(read)), nothing.map(() => undefined))
  })

  it('reads nothing that a link below its folder leads to, and follows those that lead there', async t => {
    await folder.write('ssh/id', 'canary')
    await folder.write('home/repository/.env', 'canary')
    await folder.write('home/repository/a/SKILL.md', 'text')
    const links = { 'home/repository/SKILL.md': '../../ssh/id', 'home/repository/away': '../../ssh', 'home/repository/b': 'a', 'home/repository/to-env': '.env', linked: 'home/repository' }
    for (const [link, target] of Object.entries(links)) await symlink(target, join(path, link))
    const executor = executorOf(t, { cwd: join(path, 'linked') })
    const read = (file: string) => executor.readText(file, 10, AbortSignal.timeout(5000))
    assert.equal(await read('./a/SKILL.md'), 'text')
    assert.deepEqual(await Promise.all(['SKILL.md', 'away/id', 'b/SKILL.md', 'to-env', '.env', '../../ssh/id'].map(read)), Array.from({ length: 6 }, () => undefined))
  })
})

function forever (options: Partial<CommandOptions> = {}): CommandOptions {
  return { timeout: 60_000, signal: new AbortController().signal, ...options }
}
