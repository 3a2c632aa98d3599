import assert from 'node:assert/strict'
import { cp, mkdir, readdir, readFile, rm, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { runAps } from '../helpers/aps.ts'
import { type Registrations } from '../helpers/registered.ts'
import { startService } from '../helpers/service.ts'
import { createTemporaryFolder } from '../helpers/temporary-folder.ts'

const KINDS = ['agents', 'environs', 'extensions', 'plans', 'skills', 'templates', 'tests', 'tools']

async function open (t: TestContext, registrations: Registrations = {}) {
  const folder = await createTemporaryFolder()
  t.after(folder.remove)
  const service = await startService(t, registrations, { LOG_LEVEL: 'silent' })
  const environment = { APS_URL: await service.listen() }
  const read = (file: string) => readFile(join(folder.path, file), 'utf8')
  return { folder, read, environment, aps: (command: string, ...args: readonly string[]) => runAps([command, folder.path, ...args], environment) }
}

describe('aps push, pull and diff', () => {
  it('push the examples, whatever needs what, and then differ in nothing', async t => {
    const { folder, aps, environment } = await open(t)
    for (const kind of KINDS) await cp(join('examples', kind), join(folder.path, kind), { recursive: true })
    const pushed = await aps('push', '--yes')
    assert.equal(pushed.code, 0, pushed.stderr)
    assert.deepEqual(await aps('diff'), { code: 0, stdout: '', stderr: '' })
    assert.deepEqual(await aps('push'), { code: 0, stdout: '', stderr: 'nothing differs\n' })

    const other = await createTemporaryFolder()
    t.after(other.remove)
    const pulled = await runAps(['pull', other.path], environment)
    assert.equal(pulled.code, 0, pulled.stderr)
    assert.deepEqual(await runAps(['diff', other.path], environment), { code: 0, stdout: '', stderr: '' })
    assert.match(await readFile(join(other.path, 'templates/greet.yaml'), 'utf8'), /^description: The smallest prompt\n/)
  })

  it('end with 1 where something differs, and show it', async t => {
    const { folder, aps } = await open(t, { 'templates:greet': 'Hello' })
    await folder.write('templates/greet.yaml', 'userPrompt: Bye\n')
    assert.deepEqual(await aps('diff'), { code: 1, stdout: '--- a/templates/greet.yaml\n+++ b/templates/greet.yaml\n@@ -1,1 +1,1 @@\n-userPrompt: Hello\n+userPrompt: Bye\n', stderr: 'aps: 1 entry differs\n' })
    const { code, stderr } = await aps('push', '--dry-run', '--overwrite')
    assert.deepEqual([code, stderr], [1, 'change prompts/greet\naps: 1 would change\n'])
    assert.equal((await aps('push', '--overwrite')).code, 2)
  })

  it('push over nothing that somebody else has edited, unless told to', async t => {
    const { folder, aps, environment } = await open(t)
    await folder.write('templates/greet.yaml', 'userPrompt: Hello\n')
    assert.equal((await aps('push', '--yes')).code, 0)
    await runAps(['prompt', 'add', 'greet', '-d', '-'], environment, 'Theirs')
    await folder.write('templates/greet.yaml', 'userPrompt: Mine\n')
    const { code, stderr } = await aps('push', '--yes')
    assert.equal(code, 1)
    assert.match(stderr, /prompts\/greet: somebody has edited it there\naps: nothing was pushed/)
    assert.equal((await aps('push', '--yes', '--overwrite')).code, 0)
    await folder.write('templates/greet.yaml', 'userPrompt: Mine again\n')
    assert.equal((await aps('push', '--yes')).code, 0)
  })

  it('pull what was edited there, and leave the bytes of what is the same', async t => {
    const { folder, read, aps, environment } = await open(t, { 'templates:team:same': 'Same', 'templates:team:other': 'Old' })
    await folder.write('templates/team/same.yaml', '# kept\nuserPrompt:   Same\n')
    assert.equal((await aps('pull')).code, 0)
    await runAps(['prompt', 'add', 'team.other', '-d', '-'], environment, 'New')
    assert.equal((await aps('pull')).code, 0)
    assert.deepEqual([await read('templates/team/same.yaml'), await read('templates/team/other.yaml')], ['# kept\nuserPrompt:   Same\n', 'userPrompt: New\n'])
  })

  it('make no folder behind a link that leads outside', async t => {
    const { folder, aps } = await open(t, { 'templates:team:deep:greet': 'Hello' })
    const outside = await createTemporaryFolder()
    t.after(outside.remove)
    await mkdir(join(folder.path, 'templates'))
    await symlink(outside.path, join(folder.path, 'templates/team'))
    const { code, stderr } = await aps('pull', '--yes')
    assert.deepEqual([code, await readdir(outside.path)], [1, []])
    assert.match(stderr, /its folder is a link that leads outside/)
  })

  it('remove what is only on the other side when asked to, within the modules of the folder', async t => {
    const { folder, aps, environment } = await open(t, { 'environs:other:x': 1 })
    await folder.write('templates/team/a.yaml', 'userPrompt: A\n')
    await folder.write('templates/team/b.yaml', 'userPrompt: B\n')
    await aps('push', '--yes')
    await rm(join(folder.path, 'templates/team/b.yaml'))
    assert.match((await aps('push')).stderr, /^only there: prompts\/team\.b; --prune/)
    assert.equal((await aps('push', '--prune', '--yes')).code, 0)
    assert.equal((await runAps(['prompt', 'list'], environment)).stdout, 'team.a\tvalid\thandlebars\ttext\t\n')
    assert.equal((await runAps(['environ', 'list'], environment)).stdout, 'other.x\n')
  })
})
