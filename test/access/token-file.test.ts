import assert from 'node:assert/strict'
import { mkdir, readlink, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { FollowedFile, hashToken, parseTokenFile } from '../../src/access/token-table.ts'
import { createTemporaryFolder } from '../helpers/temporary-folder.ts'
import { quietLog } from '../helpers/quiet-log.ts'

const line = (name: string) => `${name}:read:${hashToken(`${name}-token`)}`
const WORDS = { variable: 'API_TOKENS_FILE', what: 'tokens' }
const parse = (text: string) => parseTokenFile(text, { requests: undefined, tokens: undefined })

describe('API_TOKENS_FILE', () => {
  it('lets in a token that is added, and no longer one that is taken out', async t => {
    const { file, write, names, log } = await open(t, [line('old'), line('kept')])
    assert.deepEqual(names(['old', 'kept', 'fresh']), ['old', 'kept', undefined])
    await write([line('kept'), line('fresh')])
    await file.refresh()
    assert.deepEqual(names(['old', 'kept', 'fresh']), [undefined, 'kept', 'fresh'])
    assert.deepEqual(log, ['info API_TOKENS_FILE has changed: its tokens are in force'])
  })

  it('is followed when it is a link that is swapped, as in a mounted Secret', async t => {
    const { path, remove } = await createTemporaryFolder()
    t.after(remove)
    for (const version of ['old', 'fresh']) {
      await mkdir(join(path, version))
      await writeFile(join(path, version, 'tokens'), line(version))
    }
    await symlink('old', join(path, '..data'))
    await symlink('..data/tokens', join(path, 'tokens'))
    const file = await FollowedFile.open(join(path, 'tokens'), WORDS, parse, quietLog())
    t.after(() => { file.close() })
    await symlink('fresh', join(path, '..tmp'))
    await rename(join(path, '..tmp'), join(path, '..data'))
    assert.equal(await readlink(join(path, '..data')), 'fresh')
    await file.refresh()
    assert.deepEqual([file.value.findCaller('old-token'), file.value.findCaller('fresh-token')?.name], [undefined, 'fresh'])
  })

  const bad: ReadonlyArray<readonly [what: string, text: string | undefined, reason: RegExp]> = [
    ['has a mistake', `${line('fresh')}\nide:root:abc`, /^entry 2 \("ide"\): expected roles/],
    ['is empty', ' \n', /^expected at least one token, and the file is empty$/],
    ['is gone', undefined, /ENOENT/]
  ]
  for (const [what, text, reason] of bad) {
    it(`that ${what} changes nothing, and is logged once as an error`, async t => {
      const { file, write, remove, names, log } = await open(t, [line('old')])
      await (text === undefined ? remove() : write([text]))
      await file.refresh()
      await file.refresh()
      assert.deepEqual(names(['old', 'fresh']), ['old', undefined])
      assert.equal(log.length, 1)
      const [said = '', why = ''] = (log[0] ?? '').split(' | ')
      assert.equal(said, 'error API_TOKENS_FILE cannot be used: the tokens of before stay in force, and those that it should revoke')
      assert.match(why, reason)
    })

    it(`that ${what} is in force as soon as it is right again`, async t => {
      const { file, write, remove, names, log } = await open(t, [line('old')])
      await (text === undefined ? remove() : write([text]))
      await file.refresh()
      await write([line('fresh')])
      await file.refresh()
      assert.deepEqual(names(['old', 'fresh']), [undefined, 'fresh'])
      assert.equal(log.at(-1), 'info API_TOKENS_FILE has changed: its tokens are in force')
    })
  }

  it('is said to be right when it is as it was before', async t => {
    const { file, write, log } = await open(t, [line('old')])
    await write(['x'])
    await file.refresh()
    await write([line('old')])
    await file.refresh()
    assert.equal(log.at(-1), 'info API_TOKENS_FILE is as it was before')
  })
})

async function open (t: TestContext, lines: readonly string[]) {
  const { path: folder, remove } = await createTemporaryFolder()
  const path = join(folder, 'tokens')
  const write = async (texts: readonly string[]) => await writeFile(path, texts.join('\n'))
  await write(lines)
  const log: string[] = []
  const note = (level: string) => (fields: object, message: string) => { log.push([`${level} ${message}`, ...Object.values(fields)].join(' | ')) }
  const file = await FollowedFile.open(path, WORDS, parse, quietLog({ info: note('info'), error: note('error') }))
  t.after(async () => {
    file.close()
    await remove()
  })
  const names = (holders: readonly string[]) => holders.map(holder => file.value.findCaller(`${holder}-token`)?.name)
  return { file, write, remove: async () => { await rm(path) }, names, log }
}
