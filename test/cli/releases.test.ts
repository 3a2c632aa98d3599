import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { runApsHere } from '../helpers/aps.ts'
import { startService } from '../helpers/service.ts'
import { createTemporaryFolder } from '../helpers/temporary-folder.ts'

/** A prompt that was published three times. */
async function open (t: TestContext) {
  const service = await startService(t, {}, { LOG_LEVEL: 'silent', VERSIONS: 'http' })
  const url = await service.listen()
  const aps = (args: readonly string[], input?: string) => runApsHere(args, { APS_URL: url }, input)
  for (const text of ['one', 'two', 'three']) await aps(['prompt', 'add', 'greet', '-d', '-'], text)
  const rendered = async (query = '') => String((await service.post(`/api/render/prompts/greet${query}`, {})).json['rendered_prompt'])
  return { ...service, url, aps, rendered, words: async (...args: readonly string[]) => (await aps(['prompt', ...args])).stderr }
}

describe('aps prompt versions, label, rollback and restore', () => {
  it('list what there is, the newest first', async t => {
    const { aps, words } = await open(t)
    await words('label', 'greet', 'staging', '2', '--note', 'trial')
    await aps(['prompt', 'add', 'greet', '-d', '-', '--note', 'shorter'], 'four')
    await words('label', 'greet', 'staging', '1')
    const { stdout, stderr } = await aps(['prompt', 'versions', 'greet'])
    assert.deepEqual(stdout.trim().split('\n').map(line => line.split('\t').slice(0, 2)), [['4', 'latest'], ['3', ''], ['2', ''], ['1', 'staging']])
    assert.match(stdout, /^4\t.*\tshorter\n/)
    assert.match(stderr, /^version\tlabels\tat\tby\tnote\nstaging: 2 → 1, at \S+ by anyone\nstaging: none → 2, at \S+ by anyone: trial\n$/)
    const { moves } = JSON.parse((await aps(['prompt', 'versions', 'greet', '--json'])).stdout) as { moves: Array<{ note: string }> }
    assert.equal(moves[1]?.note, 'trial')
  })

  it('move a label to a version, to latest, and to shares of several', async t => {
    const { words, rendered } = await open(t)
    assert.equal(await words('label', 'greet', 'production', '1'), 'production of prompt greet means version 1 now\n')
    assert.equal(await rendered('?label=production'), 'one')
    assert.equal(await words('label', 'greet', 'production', 'latest'), 'production of prompt greet means version 3 now\n')
    assert.equal(await words('label', 'greet', 'canary', '3=5,1=95'), 'canary of prompt greet means version 3 (5 %), 1 (95 %) now\n')
    assert.equal(await words('label', 'greet', 'canary', '--remove'), 'prompt greet has no label canary now\n')
  })

  it('go back to what a label meant before', async t => {
    const { words, aps, rendered } = await open(t)
    await words('label', 'greet', 'production', '1')
    assert.match(await words('rollback', 'greet', 'production'), /^aps: the label production of prompt greet meant nothing before\n$/)
    await words('label', 'greet', 'production', '3')
    assert.equal(await words('rollback', 'greet', 'production'), 'production of prompt greet means version 1 again\n')
    assert.equal(await rendered('?label=production'), 'one')
    assert.equal((await aps(['prompt', 'rollback', 'greet', 'nope'])).code, 1)
  })

  it('roll back once for one state, and further only with --again', async t => {
    const { words, rendered } = await open(t)
    for (const version of ['1', '2', '3']) await words('label', 'greet', 'production', version)
    assert.equal(await words('rollback', 'greet', 'production'), 'production of prompt greet means version 2 again\n')
    const done = /^production of prompt greet was rolled back at \S+ already, and means version 2; --again goes back to version 1\n$/
    assert.match(await words('rollback', 'greet', 'production'), done)
    assert.match(await words('rollback', 'greet', 'production'), done)
    assert.equal(await rendered('?label=production'), 'two')
    assert.equal(await words('rollback', 'greet', 'production', '--again'), 'production of prompt greet means version 1 again\n')
    assert.match(await words('rollback', 'greet', 'production'), /already, and means version 1; before that it meant nothing\n$/)
    assert.match(await words('rollback', 'greet', 'production', '--again'), /^aps: the label production of prompt greet meant nothing before\n$/)
    await words('label', 'greet', 'production', '3')
    assert.equal(await words('rollback', 'greet', 'production'), 'production of prompt greet means version 1 again\n')
  })

  it('bring back a label that was removed', async t => {
    const { words } = await open(t)
    await words('label', 'greet', 'staging', '2')
    await words('label', 'greet', 'staging', '--remove')
    assert.equal(await words('rollback', 'greet', 'staging'), 'staging of prompt greet means version 2 again\n')
  })

  it('publish a version again', async t => {
    const { words, rendered } = await open(t)
    assert.equal(await words('restore', 'greet', '1', '--note', 'better'), 'prompt greet is what version 1 was, as version 4\n')
    assert.equal(await rendered(), 'one')
  })

  it('end with 2 for what is no version, and 1 for one that is not there', async t => {
    const { aps } = await open(t)
    const codeOf = async (...args: readonly string[]) => (await aps(['prompt', ...args])).code
    assert.deepEqual([await codeOf('label', 'greet', 'x', 'seven'), await codeOf('label', 'greet', 'x'), await codeOf('label', 'greet', 'x', '9'), await codeOf('restore', 'greet', '9')], [2, 2, 1, 1])
  })
})

describe('aps push --label', () => {
  it('lets the label mean what the folder has, once all is stored, also where nothing has changed', async t => {
    const { url, rendered, post } = await open(t)
    const folder = await createTemporaryFolder()
    t.after(folder.remove)
    const push = (...args: readonly string[]) => runApsHere(['push', folder.path, '--yes', ...args], { APS_URL: url })
    await folder.write('templates/greet.yaml', 'userPrompt: four\n')
    await folder.write('templates/bye.yaml', 'userPrompt: bye\n')
    const { code, stderr } = await push('--overwrite', '--label', 'staging')
    assert.deepEqual([code, stderr.split('\n').at(-2)], [0, 'staging means what the folder has, for 2 prompts'])
    assert.equal(await rendered('?label=staging'), 'four')
    await post('/api/prompts/greet/versions/1/restore', {})
    assert.equal(await rendered('?label=staging'), 'four')
    assert.equal((await push('--label', 'production')).code, 1)
    await push('--overwrite')
    assert.equal((await push('--label', 'production')).stderr, 'nothing differs\nproduction means what the folder has, for 2 prompts\n')
    assert.equal(await rendered('?label=production'), 'four')
  })

  it('moves nothing when an entry was refused', async t => {
    const { url, get } = await open(t)
    const folder = await createTemporaryFolder()
    t.after(folder.remove)
    await folder.write('templates/good.yaml', 'userPrompt: good\n')
    await folder.write('templates/bad.yaml', 'userPrompt: bad {{#if\n')
    const { code, stderr } = await runApsHere(['push', folder.path, '--yes', '--label', 'staging'], { APS_URL: url })
    assert.equal(code, 1)
    assert.match(stderr, /1 of 2 were refused, and staging was not moved\n$/)
    assert.equal((await get('/api/prompts/good/versions')).status, 404)
  })
})
