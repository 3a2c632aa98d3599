import assert from 'node:assert/strict'
import { mkdir, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test, type TestContext } from 'node:test'
import { FolderWatch } from '../../src/store/directory-store.ts'
import { createTemporaryFolder } from '../helpers/temporary-folder.ts'
import { waitFor } from '../helpers/wait-for.ts'

/** A watch over folders of which none can be watched: links that lead to themselves are refused to everybody, root too. */
async function failing (t: TestContext, names: readonly string[]) {
  const folder = await createTemporaryFolder()
  const told: Array<string | undefined> = []
  const changed: string[] = []
  let folders = 0
  const watch = new FolderWatch(path => { changed.push(path) }, () => { folders++ }, reason => { told.push(reason) })
  t.after(async () => {
    watch.close()
    await folder.remove()
  })
  const paths = names.map(name => join(folder.path, name))
  for (const path of paths) {
    await symlink(path, path)
    await watch.add(path)
  }
  return { watch, paths, told, changed, folders: () => folders }
}

async function mend (path: string): Promise<void> {
  await rm(path)
  await mkdir(path)
}

describe('FolderWatch', () => {
  test('tells once why a folder cannot be watched', async t => {
    const { watch, told } = await failing(t, ['a'])
    await watch.retry()
    assert.equal(told.length, 1)
    assert.match(told[0] ?? '', /^changes of files are not seen at once: ELOOP/)
  })

  test('watches it as soon as it can be, and takes the problem back', async t => {
    const { watch, paths: [path = ''], told, changed, folders } = await failing(t, ['a'])
    await mend(path)
    await watch.retry()
    assert.deepEqual([told.length, told[1], folders()], [2, undefined, 1])
    await writeFile(join(path, 'x.json'), '1')
    await waitFor('the change to be told', () => changed.includes(join(path, 'x.json')))
  })

  test('keeps the problem while there is another folder that cannot be watched', async t => {
    const { watch, paths: [one = '', other = ''], told } = await failing(t, ['a', 'b'])
    await mend(one)
    await watch.retry()
    assert.match(told.at(-1) ?? '', /ELOOP/)
    await mend(other)
    await watch.retry()
    assert.equal(told.at(-1), undefined)
  })

  test('takes the problem back when the folder is gone', async t => {
    const { watch, paths: [path = ''], told } = await failing(t, ['a'])
    await rm(path)
    await watch.retry()
    assert.deepEqual([told.length, told[1]], [2, undefined])
  })
})
