import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { createWorkspace, hashOf, type TestWorkspace } from './workspace.ts'

let workspace: TestWorkspace

describe('A change that edits a file', () => {
  beforeEach(async () => { workspace = await createWorkspace() })
  afterEach(() => workspace.remove())

  it('writes what the edits come to, as an update with its hashes', async () => {
    await workspace.put('a.md', 'one\ntwo\n')
    const outcome = await workspace.apply([{ kind: 'EDIT_FILE', path: 'a.md', edits: [{ search: 'two', replace: 'three' }] }])
    assert(outcome.kind === 'result')
    assert.deepEqual((outcome.result['applied'] as Array<{ kind: string }>).map(({ kind }) => kind), ['UPDATE_FILE'])
    assert.equal(await workspace.get('a.md'), 'one\nthree\n')
  })

  it('is taken back and done again as any', async () => {
    await workspace.put('a.md', 'one')
    await workspace.apply([{ kind: 'EDIT_FILE', path: 'a.md', edits: [{ search: 'one', replace: 'two' }] }])
    await workspace.undo()
    assert.equal(await workspace.get('a.md'), 'one')
    await workspace.redo()
    assert.equal(await workspace.get('a.md'), 'two')
  })

  it('writes nothing at all where one of its edits is not found', async () => {
    await workspace.put('a.md', 'one')
    await workspace.put('b.md', 'one')
    const before = await workspace.tree()
    const outcome = await workspace.apply([{ kind: 'EDIT_FILE', path: 'a.md', edits: [{ search: 'one', replace: 'two' }] }, { kind: 'EDIT_FILE', path: 'b.md', edits: [{ search: 'no', replace: '' }] }])
    assert.equal(outcome.kind === 'failure' && outcome.code, 'ERR_EDIT_NOT_FOUND')
    assert.deepEqual(await workspace.tree(), before)
  })

  const REFUSED: ReadonlyArray<[title: string, action: object, bases: Record<string, string> | undefined, code: string]> = [
    ['of a file that has changed since it was read', { path: 'a.md', edits: [{ search: 'one', replace: '' }] }, { 'a.md': '0'.repeat(64) }, 'ERR_BASE_CHANGED'],
    ['of a file that was not read', { path: 'a.md', edits: [{ search: 'one', replace: '' }] }, {}, 'ERR_UPDATE_WITHOUT_BASE'],
    ['of a file that is not there', { path: 'no.md', edits: [{ search: 'one', replace: '' }] }, {}, 'PATH_NOT_FOUND'],
    ['of bytes that are no text', { path: 'binary.md', edits: [{ search: 'one', replace: '' }] }, undefined, 'ERR_EDIT_NOT_FOUND'],
    ['with an empty search', { path: 'a.md', edits: [{ search: '', replace: 'x' }] }, undefined, 'ERR_SCHEMA_VALIDATION'],
    ['without edits', { path: 'a.md', edits: [] }, undefined, 'ERR_CONTENT_REQUIRED']
  ]
  for (const [title, action, bases, code] of REFUSED) {
    it(`is refused ${title}`, async () => {
      await workspace.put('a.md', 'one')
      await workspace.put('binary.md', new Uint8Array([0xff, 0xfe, 0x6f, 0x6e, 0x65]))
      const outcome = await workspace.apply([{ kind: 'EDIT_FILE', ...action } as never], bases)
      assert.equal(outcome.kind === 'failure' && outcome.code, code)
      assert.equal(await workspace.get('a.md'), 'one')
    })
  }

  it('writes line feeds where they are wanted', async () => {
    await workspace.put('a.md', 'one\r\ntwo')
    await workspace.change({ do: { actions: [{ kind: 'EDIT_FILE', path: 'a.md', edits: [{ search: 'two', replace: 'three' }] }], bases: { 'a.md': await hashOf(`${workspace.root}/a.md`) }, eol: 'lf' } })
    assert.equal(await workspace.get('a.md'), 'one\nthree\n')
  })
})
