import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, readlinkSync } from 'node:fs'
import { access, appendFile, mkdir, readdir, readFile, truncate, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Readable } from 'node:stream'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { describe, it, type TestContext } from 'node:test'
import { createDirectorySessionStore } from '../../../src/session/store/directory-session-store.ts'
import { formatLine } from '../../../src/session/store/session-file.ts'
import { SessionStoreError, type SessionStore } from '../../../src/session/store/session-store.ts'
import { createTemporaryFolder } from '../../helpers/temporary-folder.ts'
import { waitFor } from '../../helpers/wait-for.ts'
import { append, appendOf, createSession, newId, positionOf, readAll } from './session-appends.ts'
import { KEEP_MS } from './session-store-variants.ts'
import { quietLog } from '../../helpers/quiet-log.ts'

/** The machine of this process, as locks name it. */
const MACHINE = process.platform === 'linux' ? `${readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()} ${readlinkSync('/proc/self/ns/pid')}` : ''

interface Folder {
  readonly path: string
  readonly warnings: string[]
  /** The file of an open session. */
  file (id: string): string
  /** A store over the folder, closed after the test. */
  open (now?: () => number): SessionStore
}

async function createFolder (t: TestContext): Promise<Folder> {
  const folder = await createTemporaryFolder()
  const path = join(folder.path, 'sessions')
  const warnings: string[] = []
  const stores: SessionStore[] = []
  t.after(async () => {
    await Promise.all(stores.map(store => store.close()))
    await folder.remove()
  })
  return {
    path,
    warnings,
    file: id => join(path, 'open', `${id}.jsonl`),
    open (now = Date.now) {
      const store = createDirectorySessionStore({ path, keep: KEEP_MS, log: quietLog({ warn: (_fields: object, message: string) => { warnings.push(message) } }), now })
      stores.push(store)
      return store
    }
  }
}

describe('A folder of sessions', () => {
  it('is made with the first session', async t => {
    const { path, open } = await createFolder(t)
    const store = open()
    assert.deepEqual(await store.list({ limit: 1 }), { heads: [], next: undefined })
    await store.watch(newId(), { onAppend () {}, onLive () {}, onGap () {} })
    await assert.rejects(access(path))
    await append(store, newId())
    assert.deepEqual((await readdir(path)).sort(), ['lock', 'open'])
  })

  it('serves everything after a restart', async t => {
    const { open } = await createFolder(t)
    let time = Date.now()
    const first = open(() => time)
    const [waiting, ended, running] = [newId(), newId(), newId()]
    await createSession(first, waiting, 3, { status: 'waiting_input', due: 60_000 })
    await createSession(first, running, 2, { due: 15_000, driver: 'a' })
    const top = await append(first, ended)
    await append(first, ended, top, { status: 'completed', due: 'never' })
    const heads = await Promise.all([waiting, ended, running].map(id => first.head(id)))
    const logs = await Promise.all([waiting, ended, running].map(id => readAll(first, id)))
    await first.close()
    time += 20_000
    const second = open(() => time)
    assert.deepEqual(await Promise.all([waiting, ended, running].map(id => readAll(second, id))), logs)
    assert.deepEqual(await Promise.all([waiting, ended, running].map(id => second.head(id))), heads)
    assert.deepEqual(await second.take('b', 10, 60_000), { ids: [running], next: 40_000 })
  })

  it('has a session due after a restart that was taken before and not appended to', async t => {
    const { open } = await createFolder(t)
    const time = Date.now()
    const first = open(() => time)
    const id = newId()
    await append(first, id, undefined, { due: 0 })
    assert.deepEqual((await first.take('a', 1, 60_000)).ids, [id])
    await first.close()
    assert.deepEqual((await open(() => time).take('b', 1, 60_000)).ids, [id])
  })

  it('has a session due after a restart that was driven before, though its lease runs, and none that waits', async t => {
    const { open } = await createFolder(t)
    const time = Date.now()
    const first = open(() => time)
    const [driven, waiting] = [newId(), newId()]
    await append(first, driven, undefined, { due: 15_000, driver: 'a' })
    await append(first, waiting, undefined, { due: 15_000, status: 'waiting_input' })
    await first.close()
    assert.deepEqual((await open(() => time).take('b', 2, 60_000)).ids, [driven])
  })

  it('moves the file of an ended session to the month in which it was begun, and removes it when it is kept no longer', async t => {
    const { path, file, open } = await createFolder(t)
    let time = Date.UTC(2026, 10, 23)
    const first = open(() => time)
    const id = newId()
    await append(first, id, undefined, { status: 'completed', due: 'never', createdAt: time })
    const moved = join(path, 'ended', '2026-11', `${id}.jsonl`)
    await assert.rejects(access(file(id)))
    await access(moved)
    await first.close()
    time += KEEP_MS + 1
    assert.equal(await open(() => time).head(id), undefined)
    await waitFor('the file to be removed', async () => (await readdir(join(path, 'ended'))).length === 0)
  })

  it('moves a file that a crash has left behind its end', async t => {
    const { path, file, open } = await createFolder(t)
    const now = Date.now()
    const { entry, head, id } = appendOf(newId(), undefined, { status: 'failed', createdAt: now })
    await mkdir(join(path, 'open'), { recursive: true })
    await writeFile(file(id), formatLine(entry, { head, due: undefined, written: now }))
    const store = open()
    assert.deepEqual(await store.head(id), head)
    assert.deepEqual(await readdir(join(path, 'open')), [])
  })

  for (const [what, torn] of [
    ['a half', (line: string) => line.slice(0, line.length >> 1)],
    ['all but its end', (line: string) => line.slice(0, -1)],
    ['a byte', (line: string) => line.slice(0, 1)],
    ['blocks of zeros instead', (line: string) => `${'\0'.repeat(line.length - 1)}\n`]
  ] as const) {
    it(`cuts off a line of which a crash has left ${what}`, async t => {
      const { file, open, warnings } = await createFolder(t)
      const id = newId()
      const first = open()
      const top = await createSession(first, id, 2)
      await first.close()
      const whole = await readFile(file(id), 'utf8')
      await appendFile(file(id), torn(whole.split(/(?<=\n)/)[1] as string))
      const second = open()
      assert.equal((await second.head(id))?.seq, 2)
      assert.equal(await readFile(file(id), 'utf8'), whole)
      assert.equal(warnings.length, 1)
      await append(second, id, top)
      assert.deepEqual((await readAll(second, id)).map(({ seq }) => seq), [1, 2, 3])
    })
  }

  it('forgets a session whose first line was torn', async t => {
    const { path, file, open } = await createFolder(t)
    const id = newId()
    await mkdir(join(path, 'open'), { recursive: true })
    await writeFile(file(id), '{"seq":1,"writ')
    const store = open()
    assert.equal(await store.head(id), undefined)
    await createSession(store, id, 2)
  })

  it('serves the other sessions beside a damaged file, which it leaves as it is', async t => {
    const { path, file, open, warnings } = await createFolder(t)
    const [good, bad] = [newId(), newId()]
    await mkdir(join(path, 'open'), { recursive: true })
    await writeFile(file(bad), 'one\ntwo\nthree\n')
    await writeFile(join(path, 'open', 'README.txt'), 'mine')
    const store = open()
    await createSession(store, good, 1)
    assert.equal((await store.list({ limit: 10 })).heads.length, 1)
    await assert.rejects(store.head(bad), new RegExp(`^SessionStoreError: the file of session ${bad} is damaged before byte 7`))
    await assert.rejects(store.append(appendOf(bad, undefined)), SessionStoreError)
    assert.equal(await readFile(file(bad), 'utf8'), 'one\ntwo\nthree\n')
    assert.equal(warnings.length, 1)
  })

  it('belongs to one process: another one gets a clear error, and the folder when the first has closed', async t => {
    const { path, open } = await createFolder(t)
    const [first, second] = [open(), open()]
    const id = newId()
    await append(first, id)
    const expected = new SessionStoreError(`another process uses the folder ${path}, process ${process.pid}; sessions in a folder belong to one process`)
    await assert.rejects(second.head(id), { message: expected.message, name: expected.name })
    assert.equal(second.problem(), expected.message)
    await first.close()
    assert.equal((await second.head(id))?.seq, 1)
    assert.equal(second.problem(), undefined)
  })

  for (const [title, content, time] of [
    ['a process that has ended', JSON.stringify({ pid: 2 ** 22 + 1, machine: MACHINE, start: '1' }), 0],
    ['a process that has ended, with a time that lies in the future', JSON.stringify({ pid: 2 ** 22 + 1, machine: MACHINE, start: '1' }), 365 * 24 * 3600],
    ['a process whose id has another one now', JSON.stringify({ pid: process.pid, machine: MACHINE, start: '1' }), 365 * 24 * 3600],
    ['a process of another machine, with a time that lies in the future', JSON.stringify({ pid: 1, machine: 'other', start: '1' }), 365 * 24 * 3600],
    ['a process that was killed before it could write its name, when the clock was ahead', '', 3600]
  ] as const) {
    it(`is taken over from ${title}`, { skip: process.platform !== 'linux' }, async t => {
      const { path, open } = await createFolder(t)
      const then = Date.now() / 1000 + time
      await mkdir(join(path, 'lock'), { recursive: true })
      await writeFile(join(path, 'lock', '7'), content)
      await utimes(join(path, 'lock', '7'), then, then)
      const store = open()
      const appended = append(store, newId())
      if (content === '' || content.includes('other')) {
        // Nobody can tell whether this process lives: that takes some seconds, in which the store says why.
        await waitFor('the reason', () => /^waits to see whether a process of another machine or container, which has the lock of .*, still lives$/.test(store.problem() ?? ''))
      }
      await appended
      assert.equal(store.problem(), undefined)
      assert.deepEqual(await readdir(join(path, 'lock')), ['8'])
    })
  }

  it('belongs to the first of many that take it over', async t => {
    const { path, open } = await createFolder(t)
    await mkdir(join(path, 'lock'), { recursive: true })
    await writeFile(join(path, 'lock', '7'), 'released\n')
    const outcomes = await Promise.allSettled(Array.from({ length: 20 }, () => append(open(), newId())))
    assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 1)
  })

  it('is served soon after a process was killed, with all that was acknowledged', async t => {
    const { path, open } = await createFolder(t)
    const id = newId()
    const appender = spawn(process.execPath, ['--import', 'tsx', new URL('session-appender.ts', import.meta.url).pathname, path, id], { stdio: ['ignore', 'pipe', 'inherit'] })
    t.after(() => appender.kill('SIGKILL'))
    let printed = ''
    for await (const chunk of appender.stdout as Readable) {
      printed += chunk
      if (printed.split('\n').length > 50) break
    }
    appender.kill('SIGKILL')
    await once(appender, 'exit')
    const acknowledged = printed.split('\n').length - 1
    const seqs = (await readAll(open(), id)).map(({ seq }) => seq)
    assert.ok(seqs.length >= acknowledged, `${seqs.length} of ${acknowledged}`)
    assert.deepEqual(seqs, seqs.map((_, index) => index + 1))
  })

  for (const [what, change] of [
    ['has appended to', (file: string) => appendFile(file, '{"seq":2}\n')],
    ['has shortened', (file: string) => truncate(file, 10)]
  ] as const) {
    it(`stops when another process ${what} a file`, async t => {
      const { file, open, warnings } = await createFolder(t)
      const store = open()
      const [id, other] = [newId(), newId()]
      const top = await append(store, id)
      await append(store, other)
      await change(file(id))
      const before = await readFile(file(id), 'utf8')
      await assert.rejects(store.append(appendOf(id, top)), /^SessionStoreError: the sessions in .* are not served any more: .* bytes, and this process left \d+; restart this service$/)
      assert.equal(await readFile(file(id), 'utf8'), before)
      await assert.rejects(store.head(other), SessionStoreError)
      await assert.rejects(store.append(appendOf(newId(), undefined)), SessionStoreError)
      assert.match(store.problem() ?? '', /not served any more/)
      assert.equal(warnings.length, 1)
    })
  }

  it('can be appended to again after a full disk', { skip: process.platform !== 'linux' }, async t => {
    const { path, file, open } = await createFolder(t)
    const store = open()
    const id = newId()
    const top = await append(store, id)
    const before = await readFile(file(id), 'utf8')
    const next = appendOf(id, top)
    // A file that may not grow is the nearest to a full disk that a test can have.
    const limited = spawn('prlimit', ['--fsize=10:unlimited', `--pid=${process.pid}`], { stdio: 'ignore' })
    const [code] = await once(limited, 'exit').catch(() => [1]) as [number]
    if (code !== 0) return t.skip('needs prlimit')
    process.on('SIGXFSZ', () => {})
    const outcome = await store.append(next).catch((error: Error) => error)
    await once(spawn('prlimit', ['--fsize=unlimited:unlimited', `--pid=${process.pid}`], { stdio: 'ignore' }), 'exit')
    process.removeAllListeners('SIGXFSZ')
    assert.ok(outcome instanceof SessionStoreError && outcome.message.startsWith(`the sessions in ${path} cannot be used: EFBIG`), `${outcome}`)
    assert.equal(await readFile(file(id), 'utf8'), before)
    assert.equal(await store.append(next), 'ok')
    assert.equal(store.problem(), undefined)
  })

  it('reads the last transitions of a long log without reading the log', async t => {
    const { path, file, open } = await createFolder(t)
    const id = newId()
    await mkdir(join(path, 'open'), { recursive: true })
    let text = ''
    let one = appendOf(id, undefined)
    for (let seq = 1; seq <= 3000; seq++) {
      text += formatLine(one.entry, { head: one.head, due: undefined, written: 0 })
      if (seq < 3000) one = appendOf(id, positionOf(one), { text: 'x'.repeat(seq % 100 === 0 ? 20_000 : 100) })
    }
    await writeFile(file(id), text)
    const store = open()
    for (const after of [0, 1, 1499, 2998, 2999]) {
      assert.deepEqual((await readAll(store, id, after)).map(({ seq }) => seq), Array.from({ length: 3000 - after }, (_, index) => after + 1 + index))
    }
  })

  it('serves 10,000 sessions soon after it was opened, and lets others have their turn', async t => {
    const { path, file, open } = await createFolder(t)
    await mkdir(join(path, 'open'), { recursive: true })
    const due = Date.now() + 60_000
    for (let count = 0; count < 100; count++) {
      await Promise.all(Array.from({ length: 100 }, async () => {
        const { id, entry, head } = appendOf(newId(), undefined, { status: 'waiting_input' })
        await writeFile(file(id), formatLine(entry, { head, due, written: 0 }))
      }))
    }
    const store = open()
    const delay = monitorEventLoopDelay({ resolution: 1 })
    delay.enable()
    const started = performance.now()
    await store.head(newId())
    const took = performance.now() - started
    delay.disable()
    t.diagnostic(`opened in ${took.toFixed(0)} ms; the event loop was kept for ${(delay.max / 1e6).toFixed(0)} ms at most`)
    assert.equal((await store.list({ limit: 10_001 })).heads.length, 10_000)
    // Some 500 ms alone on a machine; the bound is against reading one by one.
    assert.ok(took < 10_000, `${took} ms`)
  })
})
