import assert from 'node:assert/strict'
import { mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { createDirectoryStore } from '../../src/store/directory-store.ts'
import { listAll } from '../helpers/list-all.ts'
import { createTemporaryFolder } from '../helpers/temporary-folder.ts'
import { KEY_PREFIX } from './store-variants.ts'
import { storeKeys } from '../helpers/store-keys.ts'

async function open (t: TestContext, files: Readonly<Record<string, string>> = {}) {
  const folder = await createTemporaryFolder()
  const root = join(folder.path, 'store')
  await mkdir(root)
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(root, path)), { recursive: true })
    await writeFile(join(root, path), content)
  }
  const store = await createDirectoryStore({ directory: root, keys: storeKeys(KEY_PREFIX) })
  t.after(async () => {
    await store.close()
    await folder.remove()
  })
  return { root, outside: folder.path, store }
}

async function filesBelow (folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  return entries.filter(entry => entry.isFile()).map(entry => join(entry.parentPath, entry.name).slice(folder.length + 1)).sort()
}

describe('a write into a folder', () => {
  it('makes the folders on the way, and leaves no temporary file', async t => {
    const { root, store } = await open(t)
    assert.equal(await store.write('shenma:environs:vscode:rules:go', '"tests"'), 'created')
    assert.deepEqual(await filesBelow(root), ['environs/vscode/rules/go.json'])
    assert.equal(await readFile(join(root, 'environs/vscode/rules/go.json'), 'utf8'), '"tests"')
  })

  for (const extension of ['yaml', 'yml']) {
    it(`keeps a .${extension} file what it is`, async t => {
      const { root, store } = await open(t, { [`templates/a.${extension}`]: '# by hand\nuserPrompt: one\n' })
      const text = JSON.stringify({ userPrompt: 'Line {{one}}: "x"\n  Line two \n\n\ttabs\n', id: '007', yes: 'no', list: [1, 1.5, null, {}] })
      assert.equal(await store.write('shenma:templates:a', text), 'replaced')
      assert.deepEqual(await filesBelow(root), [`templates/a.${extension}`])
      assert.match(await readFile(join(root, `templates/a.${extension}`), 'utf8'), /^userPrompt: \|/)
      assert.deepEqual(await store.read(['shenma:templates:a']), [{ kind: 'text', text }])
    })
  }

  const notForYaml = [
    ['is too long for one', JSON.stringify('x'.repeat(200_000))],
    ['is no JSON', 'plain {{text}}']
  ] as const
  for (const [why, text] of notForYaml) {
    it(`replaces a YAML file by a JSON file where the value ${why}`, async t => {
      const { root, store } = await open(t, { 'templates/a.yaml': 'userPrompt: one\n' })
      assert.equal(await store.write('shenma:templates:a', text), 'replaced')
      assert.deepEqual(await filesBelow(root), ['templates/a.json'])
      assert.deepEqual(await store.read(['shenma:templates:a']), [{ kind: 'text', text }])
    })
  }

  it('keeps every digit of an integer in a YAML file', async t => {
    const { store } = await open(t, { 'environs/a.yaml': '1\n' })
    const text = '{"id":12345678901234567890123}'
    await store.write('shenma:environs:a', text)
    assert.deepEqual(await store.read(['shenma:environs:a']), [{ kind: 'text', text }])
  })

  it('removes every file of a key', async t => {
    const { root, store } = await open(t, { 'tools/a.json': '1', 'tools/a.yaml': '2', 'tools/b.yml': '3' })
    assert.equal(await store.remove('shenma:tools:a'), 'removed')
    assert.deepEqual(await filesBelow(root), ['tools/b.yml'])
  })

  const impossible = [
    'shenma:tools:../../escaped', 'shenma:tools:..:..:escaped', 'shenma:..:escaped', 'shenma:tools:/etc/escaped', 'shenma:tools:a\\b', 'shenma:tools:a\0b',
    'shenma:tools', 'shenma:tools:', 'shenma:tools::a', 'shenma:other:a', 'other:tools:a', 'shenma:tools:.hidden', 'shenma:tools:node_modules:a',
    `shenma:tools:${'x'.repeat(300)}`, `shenma:tools:${Array(32).fill('d').join(':')}`
  ]
  for (const key of impossible) {
    it(`refuses the key ${JSON.stringify(key.slice(0, 60))} and touches nothing`, async t => {
      const { outside, store } = await open(t)
      assert.equal(await store.write(key, '1'), 'impossible')
      assert.match(String(await store.remove(key)), /impossible|missing/)
      assert.deepEqual(await filesBelow(outside), [])
    })
  }

  it('can be listed when a key is as deep as it may be', async t => {
    const { store } = await open(t)
    const key = `shenma:tools:${Array(31).fill('d').join(':')}`
    assert.equal(await store.write(key, '1'), 'created')
    assert.deepEqual(await listAll(store, KEY_PREFIX), [key])
  })

  it('goes through no link that leads outside, nor makes anything behind it', async t => {
    const { root, outside, store } = await open(t)
    await mkdir(join(outside, 'elsewhere'))
    await mkdir(join(root, 'tools'))
    await writeFile(join(outside, 'elsewhere/a.json'), 'untouched')
    await symlink(join(outside, 'elsewhere'), join(root, 'tools/link'))
    await symlink(join(outside, 'nowhere'), join(root, 'tools/dangling'))
    for (const key of ['shenma:tools:link:a', 'shenma:tools:link:b', 'shenma:tools:link:deep:b', 'shenma:tools:dangling:a']) {
      assert.equal(await store.write(key, '1'), 'impossible', key)
      assert.match(String(await store.remove(key)), /impossible|missing/, key)
    }
    assert.deepEqual(await filesBelow(outside), ['elsewhere/a.json'])
    assert.equal(await readFile(join(outside, 'elsewhere/a.json'), 'utf8'), 'untouched')
  })

  it('replaces a link to a file, not what it leads to', async t => {
    const { root, outside, store } = await open(t, { 'tools/other.json': '1' })
    await writeFile(join(outside, 'secret.json'), 'untouched')
    await symlink(join(outside, 'secret.json'), join(root, 'tools/a.json'))
    assert.equal(await store.write('shenma:tools:a', '2'), 'replaced')
    assert.equal(await readFile(join(outside, 'secret.json'), 'utf8'), 'untouched')
    assert.deepEqual(await store.read(['shenma:tools:a']), [{ kind: 'text', text: '2' }])
  })

  it('says that a key is impossible whose file or folder is something else', async t => {
    const { root, store } = await open(t, { 'tools/file': 'x' })
    await mkdir(join(root, 'tools/folder.json'))
    assert.equal(await store.write('shenma:tools:file:a', '1'), 'impossible')
    assert.equal(await store.write('shenma:tools:folder', '1'), 'impossible')
  })
})
