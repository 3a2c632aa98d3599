import assert from 'node:assert/strict'
import { mkdir, rename, rm, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { type JsonObject } from '../../../src/base/json.ts'
import { type ChangeOutcome, Journal } from '../../../src/files/change/journal.ts'
import { preview } from '../../../src/files/workspaces.ts'
import { createWorkspace, hashOf, type TestWorkspace } from './workspace.ts'

let workspace: TestWorkspace

const at = (path: string): string => join(workspace.root, path)

/** A change that touches a file, a folder with what is in it, and a file that comes; as it was shown. */
async function shown (): Promise<JsonObject> {
  const actions: JsonObject[] = [{ kind: 'DELETE_DIR', path: 'old' }, { kind: 'DELETE_FILE', path: 'a.md' }, { kind: 'UPDATE_FILE', path: 'way/d.md', content: 'new' }, { kind: 'CREATE_FILE', path: 'n/e.md', content: 'e' }, { kind: 'CREATE_DIR', path: 'way' }]
  return await show({ do: { actions, bases: { 'way/d.md': await hashOf(at('way/d.md')) }, eol: 'keep' } })
}

async function show (change: JsonObject): Promise<JsonObject> {
  const [[kind = '', wish] = []] = Object.entries(change)
  const { shown } = await preview({ files: workspace.files, journal: new Journal(workspace.journal), session: 'S' }, change)
  return { [kind]: { ...wish as JsonObject, shown } }
}

function failureOf (outcome: ChangeOutcome): string {
  return outcome.kind === 'failure' ? `${outcome.code}: ${outcome.message}` : 'ok'
}

const meanwhile: ReadonlyArray<readonly [string, string, () => Promise<unknown>]> = [
  ['a file that goes is edited', '"a.md"', () => workspace.put('a.md', 'mine')],
  ['a file that goes is gone', '"a.md"', () => rm(at('a.md'))],
  ['a file that goes is a folder now', '"a.md"', async () => { await rm(at('a.md')); await mkdir(at('a.md')) }],
  ['a file in a folder that goes is edited', '"old/sub/c.md"', () => workspace.put('old/sub/c.md', 'mine')],
  ['a file is put into a folder that goes', '"old/sub/new.md"', () => workspace.put('old/sub/new.md', 'mine')],
  ['a folder is put into a folder that goes', '"old/more"', () => mkdir(at('old/more'))],
  ['a file of a folder that goes is gone', '"old/b.md"', () => rm(at('old/b.md'))],
  ['a folder that goes is gone', '"old", "old/b.md"|"old/b.md"', () => rm(at('old'), { recursive: true })],
  ['a protected file is put into a folder that goes', 'old/\\.env', () => workspace.put('old/.env', 'KEY=1')],
  ['a link is put into a folder that goes', 'old/link', () => symlink('../keep.md', at('old/link'))],
  ['a file is where one was to come', '"n/e.md"', () => workspace.put('n/e.md', 'mine')],
  ['a file is where a folder was to come', '"n"', () => workspace.put('n', 'mine')],
  ['a folder on the way is a link to another one', '"way', async () => { await rename(at('way'), at('real')); await symlink('real', at('way')) }],
  ['a file that is updated is edited', 'way/d.md', () => workspace.put('way/d.md', 'mine')]
]

describe('A change that was shown', () => {
  beforeEach(async () => {
    workspace = await createWorkspace()
    await workspace.put('a.md', 'a')
    await workspace.put('keep.md', 'keep')
    await workspace.put('old/b.md', 'b')
    await workspace.put('old/sub/c.md', 'c')
    await workspace.put('way/d.md', 'd')
  })
  afterEach(() => workspace.remove())

  it('is made where all is as it was shown', async () => {
    assert.equal(failureOf(await workspace.change(await shown())), 'ok')
    assert.deepEqual(Object.keys(await workspace.tree()), ['keep.md', 'n', 'n/e.md', 'way', 'way/d.md'])
  })

  for (const [what, named, edit] of meanwhile) {
    it(`is refused as a whole, with the path, where ${what}`, async () => {
      const change = await shown()
      await edit()
      const before = await workspace.tree()
      assert.match(failureOf(await workspace.change(change)), new RegExp(`^ERR_BASE_CHANGED: .*(?:${named})`))
      assert.deepEqual(await workspace.tree(), before)
      assert.deepEqual((await new Journal(workspace.journal).endedOf('S')), [])
    })
  }

  it('is made where something else has changed', async () => {
    const change = await shown()
    await workspace.put('keep.md', 'mine')
    await workspace.put('way/other.md', 'mine')
    assert.equal(failureOf(await workspace.change(change)), 'ok')
  })

  it('names 20 of many paths, and how many more there are', async () => {
    const change = await shown()
    for (let n = 0; n < 30; n++) await workspace.put(`old/new${n}.md`, 'x')
    assert.match(failureOf(await workspace.change(change)), / and 10 more; nothing was written$/)
  })

  it('is made again as it was shown, or not at all', async () => {
    await workspace.apply([{ kind: 'DELETE_DIR', path: 'old' }])
    await workspace.undo()
    const change = await show({ redo: {} })
    assert.deepEqual((change['redo'] as { shown: JsonObject[] }).shown.map(({ kind, path }) => `${String(kind)} ${String(path)}`), ['DELETE_FILE old/b.md', 'DELETE_FILE old/sub/c.md', 'DELETE_DIR old/sub', 'DELETE_DIR old'])
    await workspace.put('old/sub/c.md', 'mine')
    const before = await workspace.tree()
    assert.match(failureOf(await workspace.change(change)), /^ERR_BASE_CHANGED: .*"old\/sub\/c\.md"/)
    assert.deepEqual(await workspace.tree(), before)
    await workspace.put('old/sub/c.md', 'c')
    await workspace.put('old/sub/new.md', 'mine')
    assert.match(failureOf(await workspace.change(change)), /^ERR_BASE_CHANGED: .*"old\/sub"/)
    await rm(at('old/sub/new.md'))
    assert.equal(failureOf(await workspace.change(change)), 'ok')
    assert.deepEqual(Object.keys(await workspace.tree()), ['a.md', 'keep.md', 'way', 'way/d.md'])
  })

  it('is refused where what was shown cannot be read', async () => {
    for (const wrong of ['x', [7], [{ path: 'a.md' }]]) assert.match(failureOf(await workspace.change({ do: { actions: [{ kind: 'DELETE_FILE', path: 'a.md' }], shown: wrong as never } })), /^ERR_SCHEMA_VALIDATION/)
  })
})
