import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { chmod, mkdir, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, test } from 'node:test'
import { createDirectoryStore } from '../../src/store/directory-store.ts'
import { StoreError, type Store, type StoredValue } from '../../src/store/store.ts'
import { listAll } from '../helpers/list-all.ts'
import { createTemporaryFolder, type TemporaryFolder } from '../helpers/temporary-folder.ts'
import { storeKeys } from '../helpers/store-keys.ts'
import { quietLog } from '../helpers/quiet-log.ts'

const keyPrefix = 'shenma:'

const LEFT_OUT = [
  'templates/.hidden.json', 'templates/.git/a.json', 'templates/.#a.json', 'templates/a.json~', 'templates/#a.json#', 'templates/a.json.swp',
  'templates/4913', 'templates/a.txt', 'templates/a', 'templates/a.JSON', 'templates/.json', 'templates/node_modules/a/package.json',
  'templates/a:b.json', 'templates/a:b/c.json', 'templates/a\\b.json', 'templates.json', 'a.json', 'other/a.json'
]

describe('directory store', () => {
  let folder: TemporaryFolder
  let outside: TemporaryFolder
  let store: Store
  let warnings: string[]

  beforeEach(async () => {
    folder = await createTemporaryFolder()
    outside = await createTemporaryFolder()
    warnings = []
    const log = quietLog({ warn: (_fields: unknown, message?: string) => { warnings.push(message ?? '') } })
    store = await createDirectoryStore({ directory: folder.path, keys: storeKeys(keyPrefix), log })
  })

  afterEach(async () => {
    await store.close()
    await folder.remove()
    await outside.remove()
  })

  const link = (target: string, path: string): Promise<void> => symlink(target, join(folder.path, path))

  async function list (): Promise<readonly string[]> {
    return [...await listAll(store, keyPrefix)].sort()
  }

  async function read (key: string): Promise<StoredValue | undefined> {
    return (await store.read([key]))[0]
  }

  async function reasonOf (key: string): Promise<string> {
    const value = await read(key)
    return value?.kind === 'bad' ? value.reason : `no bad value: ${value?.kind}`
  }

  test('makes keys of paths and JSON of YAML', async () => {
    await folder.write('environs/vscode/frameworks.json', '["react" ]\n')
    await folder.write('templates/a.yaml', 'name: a\nnumber: 12345678901234567890\n')
    await folder.write('tools/b.yml', '- 1\n')
    assert.deepEqual(await list(), ['shenma:environs:vscode:frameworks', 'shenma:templates:a', 'shenma:tools:b'])
    assert.deepEqual(await store.read(await list()), [
      { kind: 'text', text: '["react" ]\n' },
      { kind: 'text', text: '{"name":"a","number":12345678901234567890}' },
      { kind: 'text', text: '[1]' }
    ])
  })

  test('names the place of an error in YAML', async () => {
    await folder.write('templates/a.yaml', 'a:\n  b: c: d\n')
    assert.deepEqual(await read('shenma:templates:a'), {
      kind: 'bad',
      reason: 'is not usable YAML: Nested mappings are not allowed in compact mappings',
      place: { line: 2, column: 6 },
      hint: 'correct the YAML there; a text with braces, ": " or " #" wants quotes, or lines of its own below "|"'
    })
  })

  for (const file of LEFT_OUT) {
    test(`leaves ${file} out`, async () => {
      await folder.write(file, '{}')
      assert.deepEqual(await list(), [])
    })
  }

  test('warns once of a name that no key can have', async () => {
    await folder.write('templates/a:b.json', '{}')
    await list()
    await list()
    assert.deepEqual(warnings, ['templates/a:b.json is left out: its path has a ":" or "\\", which no key can have there'])
  })

  test('warns once of files and folders that are likely meant to be read', async () => {
    for (const file of ['templates/sub/b.JSON', 'templates/a.txt', 'templates/a.json~', 'templates/.b.txt', 'templates/README.md', 'prompts/a.json', 'other/a.json']) await folder.write(file, '{}')
    await list()
    await list()
    assert.deepEqual(warnings.sort(), [
      'only files that end in .json, .yaml, .yml are read, and not templates/a.txt, templates/sub/b.JSON',
      'only the folders extensions, templates, environs, tools, agents, skills, plans, releases, versions, tests are read, and not prompts'
    ])
  })

  test('names only some of many files that are not read', async () => {
    for (let number = 1; number <= 7; number++) await folder.write(`templates/${number}.txt`, '')
    await list()
    assert.equal(warnings[0]?.match(/\.txt/g)?.length, 5)
  })

  test('prefers JSON to YAML for one key, with one warning', async () => {
    await folder.write('templates/a.yml', 'from: yml')
    await folder.write('templates/a.yaml', 'from: yaml')
    assert.deepEqual(await read('shenma:templates:a'), { kind: 'text', text: '{"from":"yaml"}' })
    await folder.write('templates/a.json', '{"from":"json"}')
    assert.deepEqual(await read('shenma:templates:a'), { kind: 'text', text: '{"from":"json"}' })
    await rm(join(folder.path, 'templates/a.yml'))
    assert.deepEqual([await list(), await list()], [['shenma:templates:a'], ['shenma:templates:a']])
    assert.deepEqual(warnings, ['shenma:templates:a has two files, .json and .yaml: the .json file is used'])
  })

  test('takes a folder for a folder, whatever its name', async () => {
    await folder.write('templates/a.json/b.json', '1')
    assert.deepEqual(await list(), ['shenma:templates:a.json:b'])
    assert.deepEqual(await read('shenma:templates:a'), { kind: 'missing' })
  })

  test('follows links that stay inside', async () => {
    await folder.write('common/a.json', '1')
    await mkdir(join(folder.path, 'templates'))
    await link('../common/a.json', 'templates/file.json')
    await link('../common', 'templates/folder')
    await link('common', 'tools')
    assert.deepEqual(await list(), ['shenma:templates:file', 'shenma:templates:folder:a', 'shenma:tools:a'])
    assert.deepEqual(await store.read(await list()), Array(3).fill({ kind: 'text', text: '1' }))
  })

  test('gives a link to a file outside as bad', async () => {
    await outside.write('secret.json', '"secret"')
    await mkdir(join(folder.path, 'templates'))
    await link(join(outside.path, 'secret.json'), 'templates/a.json')
    assert.deepEqual(await list(), ['shenma:templates:a'])
    assert.equal(await reasonOf('shenma:templates:a'), 'is a link that leads outside the folder of the store')
  })

  test('reads nothing outside while a folder on the way is swapped for a link', async () => {
    await mkdir(join(folder.path, 'templates/a'), { recursive: true })
    await writeFile(join(folder.path, 'templates/a/b.json'), '"inside"')
    await writeFile(join(outside.path, 'b.json'), '"secret"')
    await link(outside.path, 'link')
    const [place, aside, linked] = ['templates/a', 'aside', 'link'].map(path => join(folder.path, path)) as [string, string, string]
    let isOver = false
    const swap = async (): Promise<void> => {
      await rename(place, aside)
      await rename(linked, place)
      await rename(place, linked)
      await rename(aside, place)
      if (!isOver) await swap()
    }
    const swaps = swap()
    const texts = new Set<string>()
    for (let round = 0; round < 2000; round++) {
      const [value] = await store.read(['shenma:templates:a:b'])
      if (value?.kind === 'text') texts.add(value.text)
    }
    isOver = true
    await swaps
    assert.deepEqual([...texts], ['"inside"'])
  })

  test('leaves out a link to a folder outside, and reads nothing through it', async () => {
    await outside.write('secret.json', '"secret"')
    await mkdir(join(folder.path, 'templates'))
    await link(outside.path, 'templates/a')
    await link(outside.path, 'tools')
    assert.deepEqual(await list(), [])
    assert.deepEqual(warnings, ['templates/a is left out: it is a link that leads outside', 'tools is left out: it is a link that leads outside'])
    assert.match(await reasonOf('shenma:templates:a:secret'), /outside/)
    assert.match(await reasonOf('shenma:tools:secret'), /outside/)
  })

  test('takes no folder whose name only begins like the own one for inside', async t => {
    const neighbour = `${folder.path}-other`
    t.after(() => rm(neighbour, { recursive: true, force: true }))
    await mkdir(neighbour)
    await writeFile(join(neighbour, 'secret.json'), '1')
    await link(neighbour, 'templates')
    assert.match(await reasonOf('shenma:templates:secret'), /outside/)
  })

  test('does not walk in circles', async () => {
    await folder.write('templates/a/b.json', '1')
    await link('..', 'templates/a/up')
    await link('self', 'templates/self')
    await link('self.json', 'templates/self.json')
    await link('nowhere.json', 'templates/broken.json')
    await link('.', 'environs')
    assert.deepEqual(await list(), ['shenma:templates:a:b'])
  })

  test('does not wait for a named pipe', async () => {
    await mkdir(join(folder.path, 'templates'))
    assert.equal(spawnSync('mkfifo', [join(folder.path, 'templates/a.json')]).status, 0)
    assert.deepEqual(await list(), [])
    assert.deepEqual(await read('shenma:templates:a'), { kind: 'missing' })
  })

  test('gives a file that may not be read as bad', { skip: process.getuid?.() === 0 && 'root may read every file' }, async () => {
    await folder.write('templates/a.json', '1')
    await chmod(join(folder.path, 'templates/a.json'), 0)
    assert.equal(await reasonOf('shenma:templates:a'), 'may not be read by this process')
  })

  test('is not created without its folder, which the error names', async () => {
    const missing = join(folder.path, 'missing')
    await assert.rejects(createDirectoryStore({ directory: missing, keys: storeKeys(keyPrefix) }), new StoreError(`the store's folder ${missing} does not exist`))
  })

  test('is not created over a file', async () => {
    await folder.write('file', '')
    const path = join(folder.path, 'file')
    await assert.rejects(createDirectoryStore({ directory: path, keys: storeKeys(keyPrefix) }), new StoreError(`the store's folder ${path} is not a folder`))
  })

  test('fails when its folder has vanished, and works when it is back', async () => {
    await folder.write('templates/a.json', '1')
    const away = join(outside.path, 'away')
    await rename(folder.path, away)
    const gone = new StoreError(`the store's folder ${folder.path} does not exist`)
    await assert.rejects(list(), gone)
    await assert.rejects(read('shenma:templates:a'), gone)
    assert.deepEqual(store.status(), { connected: false, changes: 'pushed', problem: gone.message })
    await rename(away, folder.path)
    assert.deepEqual(await list(), ['shenma:templates:a'])
    assert.deepEqual(store.status(), { connected: true, changes: 'pushed' })
  })
})
