import assert from 'node:assert/strict'
import { link, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { type JsonObject } from '../../../src/base/json.ts'
import { Journal } from '../../../src/files/change/journal.ts'
import { fulfil } from '../../../src/files/workspaces.ts'
import { createWorkspace, hashOf, type TestWorkspace } from '../change/workspace.ts'

let workspace: TestWorkspace
beforeEach(async () => { workspace = await createWorkspace() })
afterEach(() => workspace.remove())

async function ask (...requests: JsonObject[]): Promise<JsonObject[]> {
  return await fulfil(requests, { files: workspace.files, journal: new Journal(workspace.journal), session: 'S', state: join(workspace.root, '../state'), owner: 'ide', logs: new Map([['app', 'log/app.log']]), signal: AbortSignal.timeout(10_000) })
}

async function hitsOf (query: string, glob?: string): Promise<string[]> {
  const [block] = await ask({ type: 'search', query, ...(glob === undefined ? {} : { glob }) })
  assert.equal(block?.['type'], 'search', JSON.stringify(block))
  return (block['hits'] as unknown as Array<{ path: string, line: number }>).map(({ path, line }) => `${path}:${line}`)
}

const lines = (from: number, to: number): string => Array.from({ length: to - from + 1 }, (_, index) => `line ${from + index}`).join('\n')

describe('A file that is asked for', () => {
  it('has its first 200 lines, how many there are, and the hash of all of it', async () => {
    await workspace.put('a.md', lines(1, 500) + '\n')
    assert.deepEqual(await ask({ type: 'read_file', path: './a.md' }), [{ type: 'file', path: 'a.md', startLine: 1, endLine: 200, totalLines: 500, text: lines(1, 200), sha256: await hashOf(join(workspace.root, 'a.md')) }])
  })

  it('has the lines that are asked for, as far as there are any', async () => {
    await workspace.put('a.md', lines(1, 10))
    const [some, beyond] = await ask({ type: 'read_file', path: 'a.md', start_line: 8, end_line: 20 }, { type: 'read_file', path: 'a.md', start_line: 50 })
    assert.deepEqual([some?.['text'], some?.['startLine'], some?.['endLine']], [lines(8, 10), 8, 10])
    assert.equal(beyond?.['text'], '')
  })

  it('has what fits of a bound of characters, with a mark, however many lines it has', async () => {
    const text = lines(1, 2000)
    await workspace.put('poetry.lock', text)
    await workspace.put('package.json', '{}\n')
    const [long, short] = await ask({ type: 'read_file', path: 'poetry.lock', max_chars: 8000 }, { type: 'read_file', path: 'package.json', max_chars: 8000 })
    assert.equal(long?.['text'], `${text.slice(0, 8000)}\n...[TRUNCATED ${text.length - 8000} chars]...`)
    assert.equal(short?.['text'], '{}')
  })

  it('keeps its line ends', async () => {
    await workspace.put('a.md', 'a\r\nb\r\n')
    assert.equal((await ask({ type: 'read_file', path: 'a.md' }))[0]?.['text'], 'a\r\nb\r')
  })

  for (const [form, content, mode] of [
    [undefined, 'a\nb\n', 0o644],
    ['begins with a byte order mark', '\ufeffa\nb\n', 0o644],
    ['line ends are CRLF', 'a\r\nb\r\n', 0o644],
    ['1 of 2 line ends are CRLF', 'a\r\nb\n', 0o644],
    ['executable', 'a\nb\n', 0o755],
    ['not UTF-8, so it cannot be changed', Buffer.from('caf\u00e9\n', 'latin1'), 0o644]
  ] as const) {
    it(`says what its lines do not show: ${form ?? 'nothing of a usual file'}`, async () => {
      await workspace.put('a.md', content, mode)
      const [block] = await ask({ type: 'read_file', path: 'a.md' })
      assert.equal(block?.['form'], form)
      assert.ok(!String(block?.['text']).includes('\ufeff'))
    })
  }

  for (const [path, code] of [['none.md', 'PATH_NOT_FOUND'], ['.env', 'PROTECTED_PATH'], ['dir/id_rsa', 'PROTECTED_PATH'], ['.git/config', 'PROTECTED_PATH'], ['link.md', 'FORBIDDEN_PATH'], ['hard.md', 'FORBIDDEN_PATH'], ['out/a.md', 'FORBIDDEN_PATH'], ['dir', 'FORBIDDEN_PATH'], ['../a.md', 'ERR_INVALID_PATH'], ['image.png', 'FORBIDDEN_PATH'], ['large.md', 'ERR_CONTENT_TOO_LARGE']] as const) {
    it(`is missing with ${code}: ${path}`, async () => {
      await workspace.put('.env', 'KEY=1')
      await workspace.put('dir/id_rsa', 'key')
      await workspace.put('.git/config', 'x')
      await symlink('.env', join(workspace.root, 'link.md'))
      await link(join(workspace.root, '.env'), join(workspace.root, 'hard.md'))
      await symlink('..', join(workspace.root, 'out'))
      await workspace.put('image.png', Buffer.from([1, 0, 2]))
      await workspace.put('large.md', Buffer.alloc(4 * 1024 * 1024 + 1, 0x20))
      const [block] = await ask({ type: 'read_file', path })
      assert.equal(block?.['type'], 'missing')
      assert.deepEqual(block['request'], { type: 'read_file', path })
      assert.equal(String(block['reason']).split(':', 1)[0], code)
    })
  }

  it('that is too long together with others is left out, and said', async () => {
    await workspace.put('a.md', 'x'.repeat(150_000))
    const blocks = await ask({ type: 'read_file', path: 'a.md' }, { type: 'read_file', path: 'a.md' }, { type: 'env' })
    assert.deepEqual(blocks.map(({ type }) => type), ['file', 'missing', 'env'])
  })
})

describe('A search', () => {
  it('finds a text literally, with file and line, in the order of names', async () => {
    await workspace.put('b.md', 'x\nfind (me)*\nfind (me)* find (me)*')
    await workspace.put('a/c.ts', 'find (me)*')
    await workspace.put('a/d.bin', Buffer.from('find (me)*\0'))
    assert.deepEqual(await hitsOf('find (me)*'), ['a/c.ts:1', 'b.md:2', 'b.md:3'])
  })

  it('finds nothing that is protected, ignored by git, or behind a link', async () => {
    for (const path of ['.env', 'x.pem', 'secrets/a.md', '.git/a.md', '.papa-yu/a.md', 'node_modules/a.js', 'dist/a.js', 'sub/local.txt', 'sub/keep.log', 'real.log', 'seen.md']) await workspace.put(path, 'needle')
    await workspace.put('.gitignore', 'dist/\n*.log\n')
    await workspace.put('sub/.gitignore', 'local.txt\n!keep.log\n')
    await symlink('secrets', join(workspace.root, 'open'))
    await symlink('.env', join(workspace.root, 'env.md'))
    await link(join(workspace.root, '.env'), join(workspace.root, 'hard.md'))
    await workspace.put('../outside/a.md', 'needle')
    await symlink('../outside', join(workspace.root, 'outside'))
    assert.deepEqual(await hitsOf('needle'), ['seen.md:1', 'sub/keep.log:1'])
  })

  it('is limited by a glob', async () => {
    for (const path of ['a.ts', 'src/a.test.ts', 'src/deep/b.test.ts', 'src/b.md']) await workspace.put(path, 'needle')
    assert.deepEqual(await hitsOf('needle', 'src/**/*.test.*'), ['src/a.test.ts:1', 'src/deep/b.test.ts:1'])
    assert.deepEqual(await hitsOf('needle', '*.ts'), ['a.ts:1', 'src/a.test.ts:1', 'src/deep/b.test.ts:1'])
  })

  it('ends after 50 hits, and says that there are more', async () => {
    await workspace.put('a.md', 'needle\n'.repeat(50))
    const [exact] = await ask({ type: 'search', query: 'needle' })
    await workspace.put('b.md', 'needle')
    const [more] = await ask({ type: 'search', query: 'needle' })
    assert.deepEqual([exact, more].map(block => [(block?.['hits'] as unknown[]).length, block?.['truncated']]), [[50, false], [50, true]])
  })

  it('is refused for a pattern that could take long, an empty query, or one of two lines', async () => {
    const blocks = await ask({ type: 'search', query: 'x', glob: '{a,b}'.repeat(7) }, { type: 'search', query: '' }, { type: 'search', query: 'a\nb' })
    assert.deepEqual(blocks.map(({ type }) => type), ['missing', 'missing', 'missing'])
  })

  it('does not take long for patterns of the repository that could', async () => {
    await workspace.put('.gitignore', `${'a*'.repeat(20)}b\n`)
    await workspace.put(`${'a'.repeat(200)}.md`, 'needle')
    assert.equal((await hitsOf('needle')).length, 1)
  })

  it('cuts what is around a hit in a long line', async () => {
    await workspace.put('a.md', `${'x'.repeat(100_000)}needle${'y'.repeat(100_000)}`)
    const [block] = await ask({ type: 'search', query: 'needle' })
    const [hit] = block?.['hits'] as unknown as [{ text: string }]
    assert.ok(hit.text.includes('needle') && hit.text.length <= 300)
  })
})

describe('Logs, the environment and what is unknown', () => {
  it('are the last lines of a source that the operator names', async () => {
    await workspace.put('log/app.log', `${lines(1, 6000)}\n`)
    const blocks = await ask({ type: 'logs', source: 'app' }, { type: 'logs', source: 'app', last_n: 2 }, { type: 'logs', source: 'app', last_n: 9999 }, { type: 'logs', source: 'constructor' })
    assert.deepEqual(blocks.map(({ text, type }) => text === undefined ? type : String(text).split('\n').length), [200, 2, 5000, 'missing'])
    assert.equal(blocks[1]?.['text'], lines(5999, 6000))
  })

  it('name the platform and the files of package managers, and nothing of environment variables', async () => {
    process.env['TEST_CANARY'] = 'canary-7131'
    await workspace.put('package.json', '{}')
    await workspace.put('.nvmrc', '20\n')
    const [block] = await ask({ type: 'env' })
    assert.match(String(block?.['text']), /^platform: \w+ \w+\nnode: \d+.*\nfiles: package\.json\n\.nvmrc: 20$/)
    delete process.env['TEST_CANARY']
    assert.equal(String(block?.['text']).includes('canary'), false)
  })

  it('are missing for a type that nobody knows', async () => {
    assert.deepEqual((await ask({ type: 'shell' }, {})).map(({ type }) => type), ['missing', 'missing'])
  })
})

describe('A preview', () => {
  it('shows unified diffs in the order of the change, with what is there, and writes nothing', async () => {
    await workspace.put('a.md', 'one\ntwo\nthree\n')
    await workspace.put('b.md', 'gone')
    const before = await workspace.tree()
    const actions: JsonObject[] = [{ kind: 'DELETE_FILE', path: 'b.md' }, { kind: 'UPDATE_FILE', path: 'a.md', content: 'one\n2\nthree\n' }, { kind: 'CREATE_FILE', path: 'n/c.md', content: 'new\n' }]
    const bases = { 'a.md': await hashOf(join(workspace.root, 'a.md')) }
    const [block, again] = await ask({ type: 'preview', change: { do: { actions, bases } } }, { type: 'preview', change: { do: { actions, bases } } })
    assert.deepEqual((block?.['files'] as unknown as Array<{ kind: string, path: string, diff: string }>).map(({ path, kind, diff }) => ({ path, kind, diff })), [
      { path: 'n', kind: 'CREATE_DIR', diff: '' },
      { path: 'n/c.md', kind: 'CREATE_FILE', diff: '--- /dev/null\n+++ b/n/c.md\n@@ -0,0 +1,1 @@\n+new\n' },
      { path: 'a.md', kind: 'UPDATE_FILE', diff: '--- a/a.md\n+++ b/a.md\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n' },
      { path: 'b.md', kind: 'DELETE_FILE', diff: '--- a/b.md\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-gone\n\\ No newline at end of file\n' }
    ])
    assert.deepEqual((block?.['shown'] as JsonObject[]).map(({ path, before: was }) => [path, was]), [['n', null], ['n/c.md', null], ['a.md', bases['a.md']], ['b.md', await hashOf(join(workspace.root, 'b.md'))]])
    assert.deepEqual(again, block)
    assert.deepEqual(await workspace.tree(), before)
  })

  it('is missing with the code of what the change would be refused for', async () => {
    const [block] = await ask({ type: 'preview', change: { do: { actions: [{ kind: 'UPDATE_FILE', path: 'a.md', content: '' }] } } })
    assert.match(String(block?.['reason']), /^PATH_NOT_FOUND: /)
    assert.equal(block?.['code'], 'PATH_NOT_FOUND')
  })

  it('states every file below a folder that goes, with line ends as they will be written', async () => {
    await workspace.put('old/a.md', 'a')
    await workspace.put('old/sub/b.md', 'b')
    const actions: JsonObject[] = [{ kind: 'DELETE_DIR', path: 'old' }, { kind: 'CREATE_FILE', path: 'c.md', content: 'one\r\ntwo' }]
    const [block] = await ask({ type: 'preview', change: { do: { actions, eol: 'lf' } } })
    assert.deepEqual((block?.['shown'] as JsonObject[]).map(({ kind, path }) => `${String(kind)} ${String(path)}`), ['CREATE_FILE c.md', 'DELETE_FILE old/a.md', 'DELETE_FILE old/sub/b.md', 'DELETE_DIR old/sub', 'DELETE_DIR old'])
    assert.equal((block?.['files'] as JsonObject[])[0]?.['diff'], '--- /dev/null\n+++ b/c.md\n@@ -0,0 +1,2 @@\n+one\n+two\n')
  })

  it('says how many files it does not list, and knows all of them', async () => {
    await Promise.all(Array.from({ length: 600 }, (_, n) => workspace.put(`old/${n}.md`, String(n))))
    const [block] = await ask({ type: 'preview', change: { do: { actions: [{ kind: 'DELETE_DIR', path: 'old' }] } } })
    assert.deepEqual([(block?.['files'] as unknown[]).length, block?.['more'], (block?.['shown'] as unknown[]).length], [500, 101, 601])
  })

  it('shows the beginning of both where all differs, and says that it is cut', async () => {
    const text = (word: string): string => Array.from({ length: 20_000 }, (_, n) => `${word} ${n * 7919 % 20_000}`).join('\n')
    await workspace.put('a.md', text('old'))
    const bases = { 'a.md': await hashOf(join(workspace.root, 'a.md')) }
    const [block] = await ask({ type: 'preview', change: { do: { actions: [{ kind: 'UPDATE_FILE', path: 'a.md', content: text('new') }], bases } } })
    const [{ diff, isCut }] = block?.['files'] as unknown as [{ diff: string, isCut: boolean }]
    assert.match(diff, /^--- a\/a\.md\n\+\+\+ b\/a\.md\n@@ -1,20000 \+1,20000 @@\n-old 0\n-old 7919\n/)
    assert.equal(isCut, true)
  })
})
