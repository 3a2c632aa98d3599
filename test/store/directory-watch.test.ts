import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { mkdir, open, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, test } from 'node:test'
import { promisify } from 'node:util'
import { createDirectoryStore } from '../../src/store/directory-store.ts'
import { type Store } from '../../src/store/store.ts'
import { listAll } from '../helpers/list-all.ts'
import { createTemporaryFolder, type TemporaryFolder } from '../helpers/temporary-folder.ts'
import { waitFor } from '../helpers/wait-for.ts'
import { storeKeys } from '../helpers/store-keys.ts'

const keyPrefix = 'shenma:'
const ANYTHING = '*'

describe('directory store, watched', () => {
  let parent: TemporaryFolder
  let store: Store
  let told: Set<string>
  /** What a registry would hold: it reads what it is told of. */
  let held: Map<string, string>

  const path = (file: string): string => join(parent.path, 'store', file)

  beforeEach(async () => {
    parent = await createTemporaryFolder()
    await parent.write('store/templates/a.json', '1')
    await parent.write('store/templates/sub/b.json', '1')
    await start(path(''))
  })

  afterEach(async () => {
    await store.close()
    await parent.remove()
  })

  async function start (directory: string): Promise<void> {
    await store?.close()
    store = await createDirectoryStore({ directory, keys: storeKeys(keyPrefix) })
    told = new Set()
    held = new Map()
    let refreshed = Promise.resolve()
    await store.watch(keys => {
      for (const key of keys ?? [ANYTHING]) told.add(key)
      // One after the other, so that what was read last counts.
      refreshed = refreshed.then(() => refresh(keys)).catch(() => {})
    })
    await refresh(undefined)
  }

  async function refresh (keys: ReadonlySet<string> | undefined): Promise<void> {
    const names = [...keys ?? new Set([...await listAll(store, keyPrefix), ...held.keys()])]
    const values = await store.read(names)
    values.forEach((value, index) => {
      if (value.kind === 'text') held.set(names[index] as string, value.text)
      else held.delete(names[index] as string)
    })
  }

  function holds (expected: Record<string, string>): Promise<unknown> {
    return waitFor(JSON.stringify(expected), () => {
      assert.deepEqual(Object.fromEntries([...held].sort()), expected)
      return true
    })
  }

  test('tells of an edit in place by its key only', async () => {
    await writeFile(path('templates/a.json'), '2')
    await holds({ 'shenma:templates:a': '2', 'shenma:templates:sub:b': '1' })
    assert.deepEqual([...told], ['shenma:templates:a'])
  })

  test('tells of a file that was saved beside and renamed over', async () => {
    await writeFile(path('templates/.a.json.tmp'), '2')
    await rename(path('templates/.a.json.tmp'), path('templates/a.json'))
    await holds({ 'shenma:templates:a': '2', 'shenma:templates:sub:b': '1' })
  })

  test('tells of a file that was renamed away and written anew', async () => {
    for (const value of ['2', '3', '4']) {
      await rename(path('templates/a.json'), path('templates/a.json~'))
      await writeFile(path('templates/a.json'), value)
      await holds({ 'shenma:templates:a': value, 'shenma:templates:sub:b': '1' })
    }
  })

  test('tells of the last of many quick writes', async () => {
    for (let value = 2; value <= 200; value++) await writeFile(path('templates/a.json'), `${value}`)
    await holds({ 'shenma:templates:a': '200', 'shenma:templates:sub:b': '1' })
  })

  test('tells of a slow write to its end', async () => {
    const file = await open(path('templates/a.json'), 'w')
    for (const piece of ['[1', ',2', ',3', ']']) {
      await file.write(piece)
      await waitFor(`the store to be told of ${piece}`, () => held.get('shenma:templates:a')?.endsWith(piece))
    }
    await file.close()
    await holds({ 'shenma:templates:a': '[1,2,3]', 'shenma:templates:sub:b': '1' })
  })

  test('tells of deletes, repeated quickly too', async () => {
    for (let round = 0; round < 5; round++) {
      await rm(path('templates/a.json'))
      await holds({ 'shenma:templates:sub:b': '1' })
      await writeFile(path('templates/a.json'), '1')
      await holds({ 'shenma:templates:a': '1', 'shenma:templates:sub:b': '1' })
    }
  })

  test('tells of a file that takes the place of another format', async () => {
    await rename(path('templates/a.json'), path('templates/a.yaml'))
    await writeFile(path('templates/a.yaml'), 'x: 2')
    await holds({ 'shenma:templates:a': '{"x":2}', 'shenma:templates:sub:b': '1' })
  })

  test('tells of files in new folders', async () => {
    await mkdir(path('environs/deep/er'), { recursive: true })
    await writeFile(path('environs/deep/er/c.json'), '1')
    await holds({ 'shenma:environs:deep:er:c': '1', 'shenma:templates:a': '1', 'shenma:templates:sub:b': '1' })
    await writeFile(path('environs/deep/er/c.json'), '2')
    await holds({ 'shenma:environs:deep:er:c': '2', 'shenma:templates:a': '1', 'shenma:templates:sub:b': '1' })
  })

  test('tells of folders that are renamed and removed', async () => {
    await rename(path('templates/sub'), path('templates/other'))
    await holds({ 'shenma:templates:a': '1', 'shenma:templates:other:b': '1' })
    await rm(path('templates'), { recursive: true })
    await holds({})
  })

  test('follows a folder that another one of its name has replaced', async () => {
    await parent.write('next/b.json', '2')
    renameSync(path('templates/sub'), join(parent.path, 'old'))
    renameSync(join(parent.path, 'next'), path('templates/sub'))
    await holds({ 'shenma:templates:a': '1', 'shenma:templates:sub:b': '2' })
    await writeFile(path('templates/sub/b.json'), '3')
    await holds({ 'shenma:templates:a': '1', 'shenma:templates:sub:b': '3' })
  })

  test('follows a folder that is removed and made again at once', async () => {
    rmSync(path('templates/sub'), { recursive: true })
    mkdirSync(path('templates/sub'))
    writeFileSync(path('templates/sub/b.json'), '2')
    await holds({ 'shenma:templates:a': '1', 'shenma:templates:sub:b': '2' })
    await writeFile(path('templates/sub/b.json'), '3')
    await holds({ 'shenma:templates:a': '1', 'shenma:templates:sub:b': '3' })
  })

  test('watches every one of many folders that come at once', async () => {
    const folders = Array.from({ length: 100 }, (_, index) => `templates/${index}/deep/er`)
    const all = (text: string) => Object.fromEntries([['shenma:templates:a', '1'], ['shenma:templates:sub:b', '1'], ...folders.map(folder => [`shenma:${folder.replaceAll('/', ':')}:x`, text])].sort())
    await Promise.all(folders.map(folder => parent.write(`next/${folder}/x.json`, '1')))
    await promisify(execFile)('cp', ['-r', `${parent.path}/next/templates/.`, path('templates')])
    await holds(all('1'))
    await Promise.all(folders.map(folder => writeFile(path(`${folder}/x.json`), '2')))
    await holds(all('2'))
  })

  test('follows links that are made while it watches', async () => {
    await parent.write('store/common/c.json', '1')
    await symlink('../common', path('templates/folder'))
    await symlink('../common/c.json', path('templates/file.json'))
    await holds({ 'shenma:templates:a': '1', 'shenma:templates:file': '1', 'shenma:templates:folder:c': '1', 'shenma:templates:sub:b': '1' })
    await writeFile(path('common/c.json'), '2')
    await holds({ 'shenma:templates:a': '1', 'shenma:templates:file': '2', 'shenma:templates:folder:c': '2', 'shenma:templates:sub:b': '1' })
  })

  test('goes on when its folder was removed and made again', async () => {
    await rm(path(''), { recursive: true })
    await waitFor('the loss to be told', () => told.has(ANYTHING))
    await parent.write('store/templates/c.json', '1')
    await holds({ 'shenma:templates:c': '1' })
    await writeFile(path('templates/c.json'), '2')
    await holds({ 'shenma:templates:c': '2' })
  })

  test('goes on when another folder took the place of its own', async () => {
    await parent.write('next/templates/c.json', '1')
    await rename(path(''), join(parent.path, 'old'))
    await rename(join(parent.path, 'next'), path(''))
    await holds({ 'shenma:templates:c': '1' })
    await writeFile(path('templates/c.json'), '2')
    await holds({ 'shenma:templates:c': '2' })
  })

  test('follows a link to its folder that is swapped', async () => {
    await symlink('store', join(parent.path, 'current'))
    await start(join(parent.path, 'current'))
    await parent.write('release-2/templates/c.json', '1')
    await symlink('release-2', join(parent.path, 'next'))
    await rename(join(parent.path, 'next'), join(parent.path, 'current'))
    await holds({ 'shenma:templates:c': '1' })
    await parent.write('release-2/templates/c.json', '2')
    await holds({ 'shenma:templates:c': '2' })
  })

  test('follows a mounted ConfigMap of Kubernetes to its next version', async () => {
    await parent.write('store/tools/..v1/c.json', '1')
    await symlink('..v1', path('tools/..data'))
    await symlink('..data/c.json', path('tools/c.json'))
    await start(path(''))
    await holds({ 'shenma:templates:a': '1', 'shenma:templates:sub:b': '1', 'shenma:tools:c': '1' })
    for (const version of ['2', '3']) {
      await parent.write(`store/tools/..v${version}/c.json`, version)
      await symlink(`..v${version}`, path('tools/..data_tmp'))
      await rename(path('tools/..data_tmp'), path('tools/..data'))
      await holds({ 'shenma:templates:a': '1', 'shenma:templates:sub:b': '1', 'shenma:tools:c': version })
    }
  })

  test('tells of a change behind a link', async () => {
    await symlink('../templates/a.json', path('templates/file.json'))
    await symlink('templates', path('tools'))
    await start(path(''))
    for (const file of ['a', 'sub/b']) await writeFile(path(`templates/${file}.json`), '2')
    await holds({
      'shenma:templates:a': '2',
      'shenma:templates:file': '2',
      'shenma:templates:sub:b': '2',
      'shenma:tools:a': '2',
      'shenma:tools:file': '2',
      'shenma:tools:sub:b': '2'
    })
  })
})
