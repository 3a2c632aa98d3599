import assert from 'node:assert/strict'
import { mkdir, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { createDirectoryStore } from '../../src/store/directory-store.ts'
import { listAll } from '../helpers/list-all.ts'
import { createTemporaryFolder } from '../helpers/temporary-folder.ts'
import { waitFor } from '../helpers/wait-for.ts'
import { quietLog } from '../helpers/quiet-log.ts'

const keys = { prefix: 'shenma:', kinds: [{ key: 'templates' }, { key: 'skills', file: 'SKILL.md' }] }
const TEXT = '---\nname: a\n---\nDo it.\n'
const KEY = 'shenma:skills:git:commit'

async function open (t: TestContext, files: Readonly<Record<string, string>> = {}) {
  const folder = await createTemporaryFolder()
  const root = join(folder.path, 'store')
  await mkdir(root)
  const put = async (path: string, content: string) => {
    await mkdir(dirname(join(root, path)), { recursive: true })
    await writeFile(join(root, path), content)
  }
  for (const [path, content] of Object.entries(files)) await put(path, content)
  const warnings: string[] = []
  const store = await createDirectoryStore({ directory: root, keys, log: quietLog({ warn: (_fields: unknown, message?: string) => { warnings.push(message ?? '') } }) })
  t.after(async () => {
    await store.close()
    await folder.remove()
  })
  const list = async () => [...await listAll(store, 'shenma:')].sort()
  const filesNow = async () => (await readdir(root, { recursive: true, withFileTypes: true })).filter(entry => entry.isFile()).map(entry => join(entry.parentPath, entry.name).slice(root.length + 1)).sort()
  return { root, outside: folder.path, store, put, list, filesNow, warnings }
}

describe('a kind with a file of its own, in a folder', () => {
  it('is listed and read by its folder, as it is', async t => {
    const { store, list, warnings } = await open(t, { 'skills/git/commit/SKILL.md': TEXT, 'skills/review/SKILL.md': 'Review', 'skills/value.yaml': 'body: x' })
    assert.deepEqual(await list(), [KEY, 'shenma:skills:review', 'shenma:skills:value'])
    assert.deepEqual(await store.read([KEY, 'shenma:skills:value']), [{ kind: 'text', text: TEXT }, { kind: 'text', text: '{"body":"x"}' }])
    assert.deepEqual(warnings, [])
  })

  it('is not read without a name, in another kind, or under another name', async t => {
    const { list } = await open(t, { 'skills/SKILL.md': TEXT, 'templates/a/SKILL.md': TEXT, 'skills/a/skill.md': TEXT, 'skills/a:b/SKILL.md': TEXT, 'skills/.hidden/SKILL.md': TEXT })
    assert.deepEqual(await list(), [])
  })

  it('gives way to a value file of its key, with a warning', async t => {
    const { store, list, warnings } = await open(t, { 'skills/a/SKILL.md': TEXT, 'skills/a.yaml': 'body: x' })
    assert.deepEqual([await list(), await store.read(['shenma:skills:a'])], [['shenma:skills:a'], [{ kind: 'text', text: '{"body":"x"}' }]])
    assert.deepEqual(warnings.map(warning => warning.replace(/two files, .*:/, 'two files:')), ['shenma:skills:a has two files: the .yaml file is used'])
  })

  it('is written where the text is no JSON', async t => {
    const { root, store, filesNow } = await open(t)
    assert.equal(await store.write(KEY, TEXT), 'created')
    assert.deepEqual([await filesNow(), await readFile(join(root, 'skills/git/commit/SKILL.md'), 'utf8')], [['skills/git/commit/SKILL.md'], TEXT])
    assert.equal(await store.write(KEY, 'Other', { kind: 'text', text: TEXT }), 'replaced')
    assert.deepEqual(await store.read([KEY]), [{ kind: 'text', text: 'Other' }])
  })

  it('is replaced by JSON, and JSON by it', async t => {
    const { store, filesNow } = await open(t, { 'skills/git/commit/SKILL.md': TEXT })
    assert.equal(await store.write(KEY, '{"body":"x"}'), 'replaced')
    assert.deepEqual([await filesNow(), await store.read([KEY])], [['skills/git/commit.json'], [{ kind: 'text', text: '{"body":"x"}' }]])
    assert.equal(await store.write(KEY, TEXT), 'replaced')
    assert.deepEqual([await filesNow(), await store.read([KEY])], [['skills/git/commit/SKILL.md'], [{ kind: 'text', text: TEXT }]])
  })

  it('is removed with the value files of its key, and nothing beside it', async t => {
    const { store, filesNow } = await open(t, { 'skills/git/commit/SKILL.md': TEXT, 'skills/git/commit/notes.md': 'x', 'skills/git/commit.yaml': 'body: x' })
    assert.equal(await store.remove(KEY), 'removed')
    assert.deepEqual([await filesNow(), await store.remove(KEY)], [['skills/git/commit/notes.md'], 'missing'])
  })

  it('is removed where it never had a folder', async t => {
    const { store, filesNow } = await open(t, { 'skills/a.json': '{"body":"x"}' })
    assert.deepEqual([await store.remove('shenma:skills:a'), await filesNow()], ['removed', []])
  })

  it('is neither read, written nor removed through a link that leads outside', async t => {
    const { root, outside, store } = await open(t, { 'skills/x/SKILL.md': TEXT })
    await mkdir(join(outside, 'elsewhere'))
    await writeFile(join(outside, 'elsewhere/SKILL.md'), 'secret')
    await symlink(join(outside, 'elsewhere'), join(root, 'skills/a'))
    const [value] = await store.read(['shenma:skills:a'])
    assert.equal(value?.kind === 'bad' && value.reason, 'is a link that leads outside the folder of the store')
    assert.deepEqual([await store.write('shenma:skills:a', TEXT), await store.remove('shenma:skills:a')], ['impossible', 'impossible'])
    assert.equal(await readFile(join(outside, 'elsewhere/SKILL.md'), 'utf8'), 'secret')
  })

  it('is told of when it changes, comes and goes', async t => {
    const { root, store, put } = await open(t, { 'skills/a/SKILL.md': TEXT })
    const told = new Set<string>()
    const stop = await store.watch(changed => { for (const key of changed ?? ['*']) told.add(key) })
    t.after(stop)
    const tells = async (what: string, key: string) => {
      await waitFor(what, () => told.has(key) || told.has('*'))
      told.clear()
    }
    await put('skills/a/SKILL.md', 'Other')
    await tells('a change', 'shenma:skills:a')
    await rm(join(root, 'skills/a/SKILL.md'))
    await tells('a removal', 'shenma:skills:a')
    await put('skills/b/c/SKILL.md', TEXT)
    await tells('a new one', 'shenma:skills:b:c')
  })
})
