import assert from 'node:assert/strict'
import { cp, mkdir, readdir, readFile, rm, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { runApsHere } from '../helpers/aps.ts'
import { type Registrations } from '../helpers/registered.ts'
import { startService } from '../helpers/service.ts'
import { createTemporaryFolder } from '../helpers/temporary-folder.ts'
import { waitFor } from '../helpers/wait-for.ts'

const KINDS = ['agents', 'environs', 'extensions', 'plans', 'skills', 'templates', 'tests', 'tools']

async function open (t: TestContext, registrations: Registrations = {}) {
  const folder = await createTemporaryFolder()
  t.after(folder.remove)
  const service = await startService(t, registrations, { LOG_LEVEL: 'silent' })
  const environment = { APS_URL: await service.listen(), NO_COLOR: '1' }
  const read = (file: string) => readFile(join(folder.path, file), 'utf8')
  return { folder, read, environment, service, aps: (command: string, ...args: readonly string[]) => runApsHere([command, folder.path, ...args], environment) }
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
    const pulled = await runApsHere(['pull', other.path], environment)
    assert.equal(pulled.code, 0, pulled.stderr)
    assert.deepEqual(await runApsHere(['diff', other.path], environment), { code: 0, stdout: '', stderr: '' })
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
    await runApsHere(['prompt', 'add', 'greet', '-d', '-'], environment, 'Theirs')
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
    await runApsHere(['prompt', 'add', 'team.other', '-d', '-'], environment, 'New')
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

  it('push nothing when one entry would be refused, and tell of each', async t => {
    const { folder, aps, service } = await open(t)
    await folder.write('tools/team/find.json', '{"type":"restful"}')
    await folder.write('templates/team/good.yaml', 'userPrompt: Good\n')
    await folder.write('templates/team/bad.yaml', "userPrompt: 'Bad {{#if'\n")
    await folder.write('templates/team/lost.yaml', "userPrompt: '{{> nowhere}}'\n")
    const { code, stderr } = await aps('push', '--yes')
    assert.equal(code, 1)
    assert.match(stderr, /not tools\/team\.find: .*\n/)
    assert.match(stderr, /not prompts\/team\.bad: .*\n/)
    assert.match(stderr, /not prompts\/team\.lost: .*"nowhere" is not registered.*\n/)
    assert.match(stderr, /aps: nothing was pushed: 3 of 4 were refused\n$/)
    assert.deepEqual((await service.get('/api/prompts')).json, [])
  })

  it('push what needs one another, and mends what is broken there', async t => {
    const { folder, aps, service } = await open(t, { 'templates:team:part': 'Broken {{#if', 'templates:team:outer': '{{> part}}' })
    await folder.write('templates/team/part.yaml', "userPrompt: '{{> inner}} {{{team_find}}}'\n")
    await folder.write('templates/team/inner.yaml', 'userPrompt: Inner\n')
    await folder.write('templates/team/outer.yaml', "userPrompt: '{{> part}}!'\n")
    await folder.write('tools/team/find.json', '{"type":"restful","url":"http://127.0.0.1:9/"}')
    const { code, stderr } = await aps('push', '--yes', '--overwrite')
    assert.equal(code, 0, stderr)
    assert.equal((await service.get('/api/prompts/team.outer')).status, 200)
  })

  it('push what the store has lost and the service holds, pushed from here before or not', async t => {
    const { folder, aps, service } = await open(t)
    for (const name of ['a', 'b']) await folder.write(`templates/team/${name}.yaml`, `userPrompt: ${name}\n`)
    await folder.write('environs/team/x.json', '1')
    await aps('push', '--yes')
    service.store.lose()
    await waitFor('the hold', async () => (await service.get('/readyz')).json['kinds']?.['environs']?.['held'])
    service.store.set('shenma:templates:theirs', 'theirs')
    await folder.write('templates/team/b.yaml', 'userPrompt: changed\n')
    await waitFor('theirs', async () => (await service.get('/api/prompts/theirs')).status === 200)
    const listed = (await service.get('/api/prompts?detail=true')).json as unknown as Array<Record<string, string>>
    assert.deepEqual(listed.map(({ id, stored }) => [id, stored]), [['team.a', 'missing'], ['team.b', 'missing'], ['theirs', undefined]])
    const { code, stderr } = await aps('push', '--yes')
    assert.equal(code, 0, stderr)
    assert.match(stderr, /^3 of them the service holds/)
    assert.deepEqual(await service.store.has(['shenma:templates:team:a', 'shenma:templates:team:b', 'shenma:environs:team:x']), [true, true, true])
    assert.deepEqual(await aps('diff'), { code: 0, stdout: '', stderr: '1 entries of other modules are only there\n' })
  })

  it('push over what is broken in the store, though the same is served', async t => {
    const { folder, aps, service } = await open(t)
    await folder.write('templates/team/a.yaml', 'userPrompt: a\n')
    await aps('push', '--yes')
    service.store.set('shenma:templates:team:a', '{"broken')
    await waitFor('the broken text', async () => ((await service.get('/api/status/entries')).json as unknown as unknown[]).length === 1)
    assert.match((await aps('push', '--yes')).stderr, /prompts\/team\.a: somebody has edited it there/)
    assert.equal((await aps('push', '--yes', '--overwrite')).code, 0)
    assert.deepEqual((await service.get('/api/status/entries')).json, [])
  })

  it('pull other modules only into an empty folder, or when told to', async t => {
    const { folder, aps } = await open(t, { 'templates:team:a': 'a', 'templates:team:b': 'b', 'templates:other:c': 'c', 'environs:team:x': 1 })
    await folder.write('templates/team/a.yaml', 'userPrompt: a\n')
    const { code, stderr } = await aps('pull')
    assert.deepEqual([code, stderr], [0, 'not brought: 2 entries of modules that the folder does not have: environs/team, prompts/other; --yes brings them\nwrote prompts/team.b\n'])
    assert.match((await aps('pull', '--yes')).stderr, /^wrote environs\/team\.x\nwrote prompts\/other\.c\n$/)
  })

  it('remove what is only on the other side when asked to, within the modules of the folder', async t => {
    const { folder, aps, environment } = await open(t, { 'environs:other:x': 1 })
    await folder.write('templates/team/a.yaml', 'userPrompt: A\n')
    await folder.write('templates/team/b.yaml', 'userPrompt: B\n')
    await aps('push', '--yes')
    await rm(join(folder.path, 'templates/team/b.yaml'))
    assert.match((await aps('push')).stderr, /^only there: prompts\/team\.b; --prune/)
    assert.equal((await aps('push', '--prune', '--yes')).code, 0)
    assert.equal((await runApsHere(['prompt', 'list'], environment)).stdout, 'team.a\tvalid\thandlebars\ttext\t\n')
    assert.equal((await runApsHere(['environ', 'list'], environment)).stdout, 'other.x\n')
  })
})
