import assert from 'node:assert/strict'
import { chmod, link, mkdir, readdir, readFile, rm, stat, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { type ChangeOutcome } from '../../../src/files/change/journal.ts'
import { createWorkspace, hashOf, type TestAction, type TestWorkspace } from './workspace.ts'

let workspace: TestWorkspace

describe('A change of files', () => {
  beforeEach(async () => { workspace = await createWorkspace() })
  afterEach(() => workspace.remove())

  it('is made in the order of the protocol, and its result has what was before and after', async () => {
    await workspace.put('a.md', 'old')
    await workspace.put('gone/b.md', 'b')
    await workspace.put('c.md', 'c')
    const outcome = await workspace.apply([
      { kind: 'DELETE_DIR', path: 'gone' }, { kind: 'DELETE_FILE', path: 'c.md' }, { kind: 'UPDATE_FILE', path: 'a.md', content: 'new' },
      { kind: 'CREATE_FILE', path: 'src/new/d.md', content: 'd' }, { kind: 'CREATE_DIR', path: 'src/empty' }
    ])
    assert.deepEqual(applied(outcome).map(({ kind, path }) => `${kind} ${path}`), ['CREATE_DIR src/empty', 'CREATE_FILE src/new/d.md', 'UPDATE_FILE a.md', 'DELETE_FILE c.md', 'DELETE_DIR gone'])
    assert.deepEqual(Object.keys(await workspace.tree()), ['a.md', 'src', 'src/empty', 'src/new', 'src/new/d.md'])
    assert.equal(applied(outcome)[2]?.after, await hashOf(join(workspace.root, 'a.md')))
    assert.equal(applied(outcome)[1]?.before, null)
    assert.equal(applied(outcome)[4]?.before, 'folder')
  })

  it('is made once, however often it is asked for under one id', async () => {
    const change = { do: { actions: [{ kind: 'CREATE_FILE', path: 'a.md', content: 'a' }], bases: {}, eol: 'keep' } }
    const first = await workspace.change(change, '7.0')
    await rm(join(workspace.root, 'a.md'))
    assert.deepEqual(await workspace.change(change, '7.0'), first)
    assert.deepEqual(await workspace.tree(), {})
  })

  it('keeps the permissions of a file', async () => {
    await workspace.put('run.sh', 'old', 0o750)
    await workspace.apply([{ kind: 'UPDATE_FILE', path: 'run.sh', content: 'new' }])
    assert.equal((await stat(join(workspace.root, 'run.sh'))).mode & 0o777, 0o750)
  })

  it('writes line ends as they are given, or as line feeds', async () => {
    await workspace.change({ do: { actions: [{ kind: 'CREATE_FILE', path: 'keep.md', content: 'a\r\nb' }], bases: {}, eol: 'keep' } })
    await workspace.change({ do: { actions: [{ kind: 'CREATE_FILE', path: 'lf.md', content: 'a\r\nb' }], bases: {}, eol: 'lf' } })
    assert.equal(await workspace.get('keep.md'), 'a\r\nb')
    assert.equal(await workspace.get('lf.md'), 'a\nb\n')
  })

  for (const [title, before, content, after] of [
    ['its byte order mark', '\ufeffone\n', 'two\n', '\ufefftwo\n'],
    ['its carriage returns', 'one\r\ntwo\r\n', 'three\nfour\n', 'three\r\nfour\r\n'],
    ['its carriage returns, where the new text has some', 'one\r\ntwo\r\n', 'three\r\nfour\n', 'three\r\nfour\r\n'],
    ['line ends of both kinds as they are written', 'one\r\ntwo\n', 'three\nfour\n', 'three\nfour\n']
  ] as const) {
    it(`keeps of an updated file ${title}`, async () => {
      await workspace.put('a.md', before)
      await workspace.apply([{ kind: 'UPDATE_FILE', path: 'a.md', content }])
      assert.equal(await workspace.get('a.md'), after)
      await workspace.undo()
      assert.equal(await workspace.get('a.md'), before)
    })
  }

  for (const [title, bytes] of [['Latin-1', [0x63, 0x61, 0x66, 0xe9, 0x0a]], ['Shift-JIS', [0x93, 0xfa, 0x96, 0x7b]], ['cp1251', [0xcf, 0xf0, 0xe8]], ['one stray byte', [0x61, 0xff, 0x62]]] as const) {
    it(`is refused for a file in ${title}, whose bytes stay`, async () => {
      await workspace.put('a.md', new Uint8Array(bytes))
      for (const change of [{ kind: 'UPDATE_FILE', content: 'new\n' }, { kind: 'EDIT_FILE', edits: [{ search: 'a', replace: 'b' }] }]) {
        const outcome = await workspace.apply([{ path: 'a.md', ...change }])
        assert.match(outcome.kind === 'failure' ? outcome.message : 'done', /no UTF-8 text/)
      }
      assert.deepEqual([...await readFile(join(workspace.root, 'a.md'))], [...bytes])
    })
  }

  it('finds a file by a link to its folder, and takes two names of one file for one', async () => {
    await workspace.put('real/a.md', 'a')
    await symlink('real', join(workspace.root, 'link'))
    assert.equal(codeOf(await workspace.apply([{ kind: 'UPDATE_FILE', path: 'link/a.md', content: 'b' }, { kind: 'UPDATE_FILE', path: 'real/a.md', content: 'c' }])), 'ERR_ACTION_CONFLICT')
    await workspace.apply([{ kind: 'UPDATE_FILE', path: 'link/a.md', content: 'b' }])
    assert.equal(await workspace.get('real/a.md'), 'b')
  })

  const big = 'x'.repeat(1024 * 1024)
  const half = '\ud83d'
  const refused: ReadonlyArray<{ readonly title: string, readonly actions: readonly TestAction[], readonly code: string, readonly bases?: Record<string, string> }> = [
    { title: 'half of a character in a file', actions: [{ kind: 'CREATE_FILE', path: 'new.md', content: `a${half}b` }], code: 'ERR_PSEUDO_BINARY' },
    { title: 'half of a character in an edit', actions: [{ kind: 'EDIT_FILE', path: 'a.md', edits: [{ search: 'a', replace: half }] }], code: 'ERR_PSEUDO_BINARY' },
    { title: 'an update of a file that was not read', actions: [{ kind: 'UPDATE_FILE', path: 'a.md', content: '' }], bases: {}, code: 'ERR_UPDATE_WITHOUT_BASE' },
    { title: 'an update of a file that has changed since', actions: [{ kind: 'UPDATE_FILE', path: 'a.md', content: '' }], bases: { 'a.md': '0'.repeat(64) }, code: 'ERR_BASE_CHANGED' },
    { title: 'a deletion of a file that has changed since', actions: [{ kind: 'DELETE_FILE', path: 'a.md' }], bases: { 'a.md': '0'.repeat(64) }, code: 'ERR_BASE_CHANGED' },
    { title: 'an update of a file that is not there', actions: [{ kind: 'UPDATE_FILE', path: 'b.md', content: '' }], bases: {}, code: 'PATH_NOT_FOUND' },
    { title: 'a deletion of a file that is not there', actions: [{ kind: 'DELETE_FILE', path: 'b.md' }], code: 'PATH_NOT_FOUND' },
    { title: 'a deletion of a folder that is not there', actions: [{ kind: 'DELETE_DIR', path: 'none' }], code: 'PATH_NOT_FOUND' },
    { title: 'a creation over a file', actions: [{ kind: 'CREATE_FILE', path: 'a.md', content: '' }], code: 'ERR_FILE_EXISTS' },
    { title: 'a folder over a file', actions: [{ kind: 'CREATE_DIR', path: 'a.md' }], code: 'ERR_FILE_EXISTS' },
    { title: 'a file below a file', actions: [{ kind: 'CREATE_FILE', path: 'a.md/b.md', content: '' }], code: 'ERR_FILE_EXISTS' },
    { title: 'two actions for one file', actions: [{ kind: 'CREATE_FILE', path: 'b.md', content: '' }, { kind: 'DELETE_FILE', path: './b.md' }], code: 'ERR_ACTION_CONFLICT' },
    { title: 'two Unicode forms of one name', actions: [{ kind: 'CREATE_FILE', path: 'é.md', content: '' }, { kind: 'CREATE_FILE', path: 'é.md'.normalize('NFD'), content: '' }], code: 'ERR_ACTION_CONFLICT' },
    { title: 'a file in a folder that is deleted', actions: [{ kind: 'DELETE_DIR', path: 'folder' }, { kind: 'CREATE_FILE', path: 'folder/b.md', content: '' }], code: 'ERR_ACTION_CONFLICT' },
    { title: 'a protected file', actions: [{ kind: 'CREATE_FILE', path: '.env', content: '' }], code: 'PROTECTED_PATH' },
    { title: 'a protected file in a folder that is deleted', actions: [{ kind: 'DELETE_DIR', path: 'keys' }], code: 'PROTECTED_PATH' },
    { title: 'a protected file by a link', actions: [{ kind: 'CREATE_FILE', path: 'linked/b.md', content: '' }], code: 'PROTECTED_PATH' },
    { title: 'a name that is not on the list', actions: [{ kind: 'CREATE_FILE', path: 'a.exe', content: '' }], code: 'FORBIDDEN_PATH' },
    { title: 'a file of node_modules', actions: [{ kind: 'CREATE_FILE', path: 'node_modules/a.js', content: '' }], code: 'FORBIDDEN_PATH' },
    { title: 'a link', actions: [{ kind: 'DELETE_FILE', path: 'link.md' }], code: 'FORBIDDEN_PATH' },
    { title: 'a file with two names', actions: [{ kind: 'DELETE_FILE', path: 'hard.md' }], code: 'FORBIDDEN_PATH' },
    { title: 'a folder that holds a link', actions: [{ kind: 'DELETE_DIR', path: 'links' }], code: 'FORBIDDEN_PATH' },
    { title: 'a path that leaves the workspace', actions: [{ kind: 'CREATE_FILE', path: 'out/a.md', content: '' }], code: 'FORBIDDEN_PATH' },
    { title: 'a path upwards', actions: [{ kind: 'CREATE_FILE', path: '../a.md', content: '' }], code: 'ERR_INVALID_PATH' },
    { title: 'a path of 241 characters', actions: [{ kind: 'CREATE_FILE', path: `${'a'.repeat(238)}.md`, content: '' }], code: 'ERR_PATH_TOO_LONG' },
    { title: 'a file without content', actions: [{ kind: 'CREATE_FILE', path: 'b.md' }], code: 'ERR_CONTENT_REQUIRED' },
    { title: 'a file of a byte more than 1 MiB', actions: [{ kind: 'CREATE_FILE', path: 'b.md', content: `${big}x` }], code: 'ERR_CONTENT_TOO_LARGE' },
    { title: 'more than 5 MiB in all', actions: [1, 2, 3, 4, 5, 6].map(n => ({ kind: 'CREATE_FILE', path: `b${n}.md`, content: n === 6 ? 'x' : big })), code: 'ERR_CONTENT_TOO_LARGE' },
    { title: '5,001 actions', actions: Array.from({ length: 5001 }, (_, n) => ({ kind: 'CREATE_DIR', path: `d${n}` })), code: 'ERR_TOO_MANY_ACTIONS' },
    { title: 'an unknown kind', actions: [{ kind: 'RENAME_FILE', path: 'a.md' }], code: 'ERR_SCHEMA_VALIDATION' }
  ]
  for (const { title, actions, bases, code } of refused) {
    it(`is refused with ${code} for ${title}, with nothing written`, async () => {
      await workspace.put('a.md', 'a')
      await workspace.put('folder/b.md', 'b')
      await workspace.put('keys/id_rsa', 'secret')
      await mkdir(join(workspace.root, 'secrets'))
      await symlink('secrets', join(workspace.root, 'linked'))
      await symlink('a.md', join(workspace.root, 'link.md'))
      await workspace.put('first.md', 'one file')
      await link(join(workspace.root, 'first.md'), join(workspace.root, 'hard.md'))
      await workspace.put('links/a.md', 'a')
      await symlink('a.md', join(workspace.root, 'links/b.md'))
      await symlink('..', join(workspace.root, 'out'))
      const before = await workspace.tree()
      assert.equal(codeOf(await workspace.apply([{ kind: 'CREATE_FILE', path: 'good.md', content: 'good' }, ...actions].slice(-5001), bases ?? {})), code)
      assert.deepEqual(await workspace.tree(), before)
      assert.deepEqual(await readdir(workspace.journal), ['lock'])
    })
  }

  it('takes what is just inside the bounds', async () => {
    const outcome = await workspace.apply([1, 2, 3, 4, 5].map(n => ({ kind: 'CREATE_FILE', path: `b${n}.md`, content: big })))
    assert.equal(applied(outcome).length, 5)
  })

  it('waits for the one before it', async () => {
    const outcomes = await Promise.all(Array.from({ length: 5 }, (_, n) => workspace.apply([{ kind: 'CREATE_FILE', path: `a${n}.md`, content: 'a' }])))
    assert.deepEqual(outcomes.map(({ kind }) => kind), Array(5).fill('result'))
  })
})

describe('Undo', () => {
  beforeEach(async () => { workspace = await createWorkspace() })
  afterEach(() => workspace.remove())

  it('restores bytes, line ends and permissions; redo does it all again', async () => {
    await workspace.put('a.sh', 'a\r\n', 0o755)
    await workspace.put('latin.md', Buffer.from([0x61, 0x0d, 0x0a, 0xff, 0x00]))
    await workspace.put('dir/sub/b.md', 'b\r\n', 0o600)
    await workspace.put('c.md', 'c')
    await chmod(join(workspace.root, 'dir/sub'), 0o700)
    const before = await workspace.tree()
    await workspace.apply([{ kind: 'UPDATE_FILE', path: 'a.sh', content: 'new' }, { kind: 'DELETE_DIR', path: 'dir' }, { kind: 'DELETE_FILE', path: 'c.md' }, { kind: 'DELETE_FILE', path: 'latin.md' }, { kind: 'CREATE_FILE', path: 'n/e/w.md', content: 'w' }])
    const after = await workspace.tree()
    assert.equal((await workspace.undo()).kind, 'result')
    assert.deepEqual(await workspace.tree(), before)
    assert.equal((await workspace.redo()).kind, 'result')
    assert.deepEqual(await workspace.tree(), after)
    await workspace.undo()
    assert.deepEqual(await workspace.tree(), before)
  })

  it('takes back the last change, then the one before it, and then there is nothing', async () => {
    for (const content of ['1', '2', '3']) await workspace.apply([content === '1' ? { kind: 'CREATE_FILE', path: 'a.md', content } : { kind: 'UPDATE_FILE', path: 'a.md', content }])
    await workspace.undo()
    assert.equal(await workspace.get('a.md'), '2')
    await workspace.undo()
    assert.equal(await workspace.get('a.md'), '1')
    await workspace.redo()
    assert.equal(await workspace.get('a.md'), '2')
    await workspace.undo()
    await workspace.undo()
    assert.deepEqual(await workspace.tree(), {})
    assert.equal(codeOf(await workspace.undo()), 'NOTHING_TO_UNDO')
  })

  it('is no longer redone when something else was done since', async () => {
    await workspace.apply([{ kind: 'CREATE_FILE', path: 'a.md', content: 'a' }])
    await workspace.undo()
    await workspace.apply([{ kind: 'CREATE_FILE', path: 'b.md', content: 'b' }])
    assert.equal(codeOf(await workspace.redo()), 'NOTHING_TO_REDO')
  })

  it('does nothing where a file has changed since, and names it', async () => {
    await workspace.apply([{ kind: 'CREATE_FILE', path: 'a.md', content: 'a' }, { kind: 'CREATE_FILE', path: 'b.md', content: 'b' }])
    await workspace.put('a.md', 'mine')
    const before = await workspace.tree()
    assert.deepEqual(resultOf(await workspace.undo()), { applied: [], conflicts: [{ path: 'a.md', reason: 'changed' }] })
    assert.deepEqual(await workspace.tree(), before)
  })

  it('takes back the paths that are named, and later the rest', async () => {
    await workspace.apply([{ kind: 'CREATE_FILE', path: 'd/a.md', content: 'a' }, { kind: 'CREATE_FILE', path: 'b.md', content: 'b' }, { kind: 'CREATE_FILE', path: 'c.md', content: 'c' }])
    await workspace.put('b.md', 'mine')
    const outcome = await workspace.undo(['d', 'b.md'])
    assert.deepEqual(resultOf(outcome)['conflicts'], [{ path: 'b.md', reason: 'changed' }])
    assert.deepEqual(Object.keys(await workspace.tree()), ['b.md', 'c.md'])
    await workspace.undo(['c.md'])
    assert.deepEqual(Object.keys(await workspace.tree()), ['b.md'])
    assert.equal(await workspace.get('b.md'), 'mine')
  })

  it('brings a file back with the folders that went with it', async () => {
    await workspace.put('d/e/a.md', 'a')
    await workspace.put('d/b.md', 'b')
    await workspace.apply([{ kind: 'DELETE_DIR', path: 'd' }])
    await workspace.undo(['d/e/a.md'])
    assert.deepEqual(Object.keys(await workspace.tree()), ['d', 'd/e', 'd/e/a.md'])
  })

  it('leaves a folder in which somebody has put something', async () => {
    await workspace.apply([{ kind: 'CREATE_FILE', path: 'd/a.md', content: 'a' }])
    await workspace.put('d/mine.txt', 'mine')
    assert.deepEqual(resultOf(await workspace.undo())['conflicts'], [{ path: 'd', reason: 'filled' }])
    assert.deepEqual(Object.keys(await workspace.tree()), ['d', 'd/mine.txt'])
    assert.equal((await workspace.redo()).kind, 'result')
    assert.deepEqual(Object.keys(await workspace.tree()), ['d', 'd/a.md', 'd/mine.txt'])
  })

  it('forgets changes of more than 30 days ago', async () => {
    await workspace.apply([{ kind: 'CREATE_FILE', path: 'a.md', content: 'a' }])
    const { Journal } = await import('../../../src/files/change/journal.ts')
    await new Journal(workspace.journal).prune(Date.now() + 31 * 24 * 3_600_000)
    assert.equal(codeOf(await workspace.undo()), 'NOTHING_TO_UNDO')
  })
})

function applied (outcome: ChangeOutcome): ReadonlyArray<{ readonly kind: string, readonly path: string, readonly before: string | null, readonly after: string | null }> {
  return resultOf(outcome)['applied'] as never
}

function resultOf (outcome: ChangeOutcome): Record<string, unknown> {
  assert.equal(outcome.kind, 'result', JSON.stringify(outcome))
  return (outcome as { result: Record<string, unknown> }).result
}

function codeOf (outcome: ChangeOutcome): string {
  return outcome.kind === 'failure' ? outcome.code : 'ok'
}
