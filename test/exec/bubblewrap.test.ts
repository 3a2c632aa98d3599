import assert from 'node:assert/strict'
import { renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { chmod, readFile, realpath, stat, symlink } from 'node:fs/promises'
import { createServer, type AddressInfo } from 'node:net'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { environmentOf, LocalExecutor, type LocalExecutorOptions, whyNoSandbox } from '../../src/exec/local-executor.ts'
import { type CommandOptions } from '../../src/exec/executor.ts'
import { quoted } from '../../src/exec/scripts.ts'
import { commandLines } from '../helpers/processes.ts'
import { createTemporaryFolder } from '../helpers/temporary-folder.ts'
import { waitFor } from '../helpers/wait-for.ts'

const why = await whyNoSandbox()
const skip = why === undefined ? false : `bubblewrap does not work here: ${why}`

describe('a sandboxed command', { skip }, () => {
  it('ends as others do', async t => {
    const { executor, path } = await sandboxIn(t)
    const { durationMs, ...ran } = await executor.run('mkdir a; cd a; echo out; echo err >&2; exit 7', forever())
    assert.deepEqual(ran, { outcome: 'exited', exitCode: 7, stdout: 'out\n', stderr: 'err\n', cwd: join(path, 'a') })
    assert.equal((await executor.run('pwd', forever({ cwd: ran.cwd }))).stdout, `${path}/a\n`)
  })

  it('ends in a folder whatever its name holds', async t => {
    const { executor, path } = await sandboxIn(t)
    for (const name of ['a\n', '.hidden\n', '\n\nexit 7\ncwd ', 'b;\x1b]0;c\x07\'"$`\\n']) {
      const { cwd, exitCode } = await executor.run(`mkdir -p ${quoted(`${name}/.${name}`)}; cd ${quoted(`${name}/.${name}`)}`, forever())
      assert.deepEqual([cwd, exitCode], [`${path}/${name}/.${name}`, 0])
      assert.equal((await executor.run('pwd', forever({ cwd }))).stdout, `${cwd ?? ''}\n`)
    }
  })

  it('writes in its workspace, and nowhere else', async t => {
    const { executor, path } = await sandboxIn(t)
    const other = await createTemporaryFolder()
    t.after(other.remove)
    const places = ['/etc/x', '/usr/x', '/root/x', '/dev/x', '/var/tmp/x', join(process.cwd(), 'x'), join(other.path, 'x')]
    const { stdout } = await executor.run(`echo 1 > inside; for place in ${places.join(' ')}; do (echo 1 > $place) 2>/dev/null && echo "wrote $place"; done; echo done`, forever())
    // /dev and the home are its own, and are gone with it.
    assert.equal(stdout.replace('wrote /root/x\n', '').replace('wrote /dev/x\n', ''), 'done\n')
    assert.equal(await readFile(join(path, 'inside'), 'utf8'), '1\n')
    // Whoever is not root may not even look into some of them.
    for (const place of places) await assert.rejects(stat(place), ({ code }: NodeJS.ErrnoException) => code === 'ENOENT' || code === 'EACCES', place)
  })

  it('has a /tmp of its own', async t => {
    const { executor } = await sandboxIn(t)
    const { stdout } = await executor.run('echo 1 > /tmp/x && cat /tmp/x; ls /run', forever())
    assert.match(stdout, /^1\n(systemd\n)?$/)
  })

  it('reaches the network only where it is granted', async t => {
    const server = createServer(socket => { socket.end('reached') }).listen(0, '127.0.0.1')
    t.after(() => { server.close() })
    await new Promise(resolve => { server.once('listening', resolve) })
    const { port } = server.address() as AddressInfo
    const command = `"${process.execPath}" -e "require('net').connect(${port}, '127.0.0.1').on('data', data => console.log(String(data))).on('error', error => console.log(error.code))"`
    const closed = await sandboxIn(t)
    assert.equal((await closed.executor.run(command, forever())).stdout, 'ECONNREFUSED\n')
    const open = await sandboxIn(t, { hasNetwork: true })
    assert.equal((await open.executor.run(command, forever())).stdout, 'reached\n')
  })

  it('reads none of the service\'s files, also where its workspace lies among them', async t => {
    // Not in /tmp, which is another one anyway.
    const here = await createTemporaryFolder('node_modules')
    t.after(here.remove)
    await here.write('key', 'canary')
    await here.write('sessions/log', 'canary')
    await here.write('around/log', 'canary')
    await here.write('around/shop/open', 'seen')
    const { executor } = await sandboxIn(t, { workspace: join(here.path, 'around/shop'), secrets: ['key', 'sessions', 'around'].map(path => join(here.path, path)) })
    const { stdout } = await executor.run('cat open ../log ../../key ../../sessions/log 2>/dev/null; ls ../../sessions; env; cat /proc/*/environ 2>/dev/null', forever())
    assert.equal(stdout.startsWith('seen'), true)
    assert.equal(stdout.includes('canary'), false)
  })

  it('does not see a file of the service that is put in the place of another one while it runs', async t => {
    // Not in /tmp, which is another one anyway.
    const here = await createTemporaryFolder('node_modules')
    t.after(here.remove)
    for (const name of ['tokens', 'data/1/tokens', 'data/2/tokens', 'shop/x']) await here.write(name, 'canary')
    await symlink('1', join(here.path, 'data/now'))
    const { executor, path } = await sandboxIn(t, { workspace: join(here.path, 'shop'), secrets: ['tokens', 'data/now/tokens'].map(name => join(here.path, name)) })
    const running = executor.run('echo begun; until [ -e go ]; do sleep 0.01; done; cat ../tokens ../data/*/tokens; ls -A ..', forever({
      onOutput () {
        // As \`mv` and a volume of Kubernetes do it.
        writeFileSync(join(here.path, 'new'), 'canary')
        renameSync(join(here.path, 'new'), join(here.path, 'tokens'))
        symlinkSync('2', join(here.path, 'data/next'))
        renameSync(join(here.path, 'data/next'), join(here.path, 'data/now'))
        writeFileSync(join(here.path, 'shop/go'), '')
      }
    }))
    assert.equal((await running).stdout, 'begun\nshop\n')
    assert.notEqual(path, here.path)
  })

  it('sees of the machine what programs need, and what the operator lets it read', async t => {
    const here = await createTemporaryFolder('node_modules')
    t.after(here.remove)
    await here.write('tool/bin/greet', '#!/bin/sh\necho hello\n')
    await chmod(join(here.path, 'tool/bin/greet'), 0o755)
    await here.write('tool/readme', 'read')
    await here.write('beside', 'canary')
    const readable = [join(here.path, 'tool')]
    const unseen: string[] = []
    const environment = { ...environmentOf(process.env, []), PATH: `/nowhere:${join(here.path, 'tool/bin')}:${join(here.path)}:/usr/bin:/bin` }
    const { executor } = await sandboxIn(t, { environment, readable, onUnseen: folders => { unseen.push(...folders) } })
    const { stdout } = await executor.run(`greet; cat ${join(here.path, 'tool/readme')}; echo; ls -A ${here.path}; ls -A ~ | wc -l; id -un`, forever())
    assert.deepEqual(stdout.split('\n'), ['hello', 'read', 'tool', '0', userInfo().username, ''])
    assert.deepEqual(unseen, [here.path])
    assert.equal((await executor.run('ls -d /etc/shadow /etc/ssl/private /var /srv /opt /mnt /boot 2>/dev/null', forever())).stdout, '')
  })

  for (const [what, at] of [['its workspace', 'shop'], ['what it may read', 'tool']] as const) {
    it(`is not run where ${what} holds what it may not read, or will hold it`, async t => {
      const folder = await createTemporaryFolder()
      t.after(folder.remove)
      const path = await realpath(folder.path)
      for (const name of ['shop', 'tool']) await folder.write(`${name}/sub/x`, '')
      const secret = join(path, at, 'sub/tokens')
      const { executor } = await sandboxIn(t, { workspace: join(path, 'shop'), readable: [join(path, 'tool')], secrets: [secret] })
      await assert.rejects(executor.run('echo never', forever()), {
        name: 'ExecutorError', code: 'SANDBOX_MISSING', message: `no sandbox hides ${secret}, since it lies in ${at === 'shop' ? 'the workspace' : `${join(path, 'tool')}, which commands in it read`}`
      })
    })
  }

  it('is not run where the system holds what it may not read, also by a link', async t => {
    const folder = await createTemporaryFolder()
    t.after(folder.remove)
    await symlink('/usr/share', join(folder.path, 'link'))
    const { executor } = await sandboxIn(t, { secrets: [join(folder.path, 'link/tokens')] })
    await assert.rejects(executor.run('echo never', forever()), { code: 'SANDBOX_MISSING', message: /lies in \/usr, which commands in it read$/ })
  })

  it('sees no process but its own, and has no capability', async t => {
    const { executor } = await sandboxIn(t)
    const { stdout } = await executor.run(`kill -0 ${process.pid} 2>/dev/null && echo seen; grep CapEff /proc/self/status`, forever())
    assert.equal(stdout, 'CapEff:\t0000000000000000\n')
  })

  it('takes its daemons with it', async t => {
    const { executor } = await sandboxIn(t)
    const mark = String(1e6 + Math.floor(Math.random() * 1e9))
    const ran = await executor.run(`setsid -f sleep ${mark}; (setsid sleep ${mark} >/dev/null 2>&1 &); echo done`, forever())
    assert.deepEqual([ran.exitCode, ran.stdout], [0, 'done\n'])
    await waitFor('no process of it', async () => !(await commandLines()).some(({ words }) => words.includes(mark)))
  })

  it('may fork as much as it likes: all of it is gone after its time', async t => {
    const { executor } = await sandboxIn(t)
    const mark = String(1e6 + Math.floor(Math.random() * 1e9))
    // A bomb that stops at 400 processes: for root Linux knows no limit, and this machine is needed afterwards.
    const bomb = `bomb () { for n in 1 2 3 4 5 6 7; do (trap "" TERM; [ "$1" -lt 3 ] && bomb $(($1 + 1)); exec setsid sleep ${mark}) & done; }; bomb 1; wait`
    const ran = await executor.run(bomb, forever({ timeout: 2500 }))
    assert.equal(ran.outcome, 'timeout')
    await waitFor('no process of it', async () => !(await commandLines()).some(({ words }) => words.includes(mark)))
  })

  it('may have a bounded number of processes', { skip: process.getuid?.() === 0 ? 'Linux bounds no processes of root' : false }, async t => {
    const { executor } = await sandboxIn(t)
    const { stdout } = await executor.run('ulimit -p 2>/dev/null || ulimit -u', forever())
    assert.equal(stdout, '2048\n')
  })
})

describe('a target that requires a sandbox', () => {
  it('runs nothing where bubblewrap is not there', async t => {
    const path = process.env['PATH']
    t.after(() => { process.env['PATH'] = path })
    process.env['PATH'] = '/nowhere'
    const { executor } = await sandboxIn(t)
    await assert.rejects(executor.run('true', forever()), { name: 'ExecutorError', code: 'SANDBOX_MISSING' })
    const reasons: string[] = []
    const other = await sandboxIn(t, { sandbox: 'auto', onBare: reason => { reasons.push(reason) } })
    for (const text of ['a', 'b']) assert.equal((await other.executor.run(`echo ${text}`, forever())).stdout, `${text}\n`)
    assert.deepEqual(reasons, ['spawn bwrap ENOENT'])
  })
})

function forever (options: Partial<CommandOptions> = {}): CommandOptions {
  return { timeout: 60_000, signal: new AbortController().signal, ...options }
}

async function sandboxIn (t: TestContext, options: Partial<LocalExecutorOptions> = {}) {
  const folder = await createTemporaryFolder()
  t.after(folder.remove)
  const executor = new LocalExecutor({ workspace: folder.path, sandbox: 'required', hasNetwork: false, environment: environmentOf(process.env, []), secrets: [], mayRunAsRoot: true, ...options })
  t.after(() => executor.close())
  return { executor, path: folder.path }
}
