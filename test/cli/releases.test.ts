import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { runApsHere } from '../helpers/aps.ts'
import { startService } from '../helpers/service.ts'
import { type AtEnd, shared } from '../helpers/shared.ts'
import { createTemporaryFolder } from '../helpers/temporary-folder.ts'

async function serve (t: AtEnd, environment: Readonly<Record<string, string>> = {}) {
  const service = await startService(t, {}, { LOG_LEVEL: 'silent', VERSIONS: 'http', ...environment })
  const url = await service.listen()
  return { ...service, url, aps: (args: readonly string[], input?: string) => runApsHere(args, { APS_URL: url }, input) }
}

const served = shared(t => serve(t))

/** A prompt that was published three times. @param id that no other test has */
async function open (id: string, service?: Awaited<ReturnType<typeof serve>>) {
  const { app, post, aps } = service ?? await served()
  for (const text of ['one', 'two', 'three']) await app.inject({ method: 'PUT', url: `/api/prompts/${id}`, payload: JSON.stringify(text), headers: { 'content-type': 'application/json' } })
  const rendered = async (query = '') => String((await post(`/api/render/prompts/${id}${query}`, {})).json['rendered_prompt'])
  return { aps, rendered, words: async (...args: readonly string[]) => (await aps(['prompt', ...args])).stderr }
}

describe('aps prompt versions, label, rollback and restore', () => {
  it('list what there is, the newest first', async () => {
    const { aps, words } = await open('listed')
    await words('label', 'listed', 'staging', '2', '--note', 'trial')
    await aps(['prompt', 'add', 'listed', '-d', '-', '--note', 'shorter'], 'four')
    await words('label', 'listed', 'staging', '1')
    const { stdout, stderr } = await aps(['prompt', 'versions', 'listed'])
    assert.deepEqual(stdout.trim().split('\n').map(line => line.split('\t').slice(0, 2)), [['4', 'latest'], ['3', ''], ['2', ''], ['1', 'staging']])
    assert.match(stdout, /^4\t.*\tshorter\n/)
    assert.match(stderr, /^version\tlabels\tat\tby\tnote\nstaging: 2 → 1, at \S+ by anyone\nstaging: none → 2, at \S+ by anyone: trial\n$/)
    const { moves } = JSON.parse((await aps(['prompt', 'versions', 'listed', '--json'])).stdout) as { moves: Array<{ note: string }> }
    assert.equal(moves[1]?.note, 'trial')
  })

  it('move a label to a version, to latest, and to shares of several', async () => {
    const { words, rendered } = await open('moved')
    assert.equal(await words('label', 'moved', 'production', '1'), 'production of prompt moved means version 1 now\n')
    assert.equal(await rendered('?label=production'), 'one')
    assert.equal(await words('label', 'moved', 'production', 'latest'), 'production of prompt moved means version 3 now\n')
    assert.equal(await words('label', 'moved', 'canary', '3=5,1=95'), 'canary of prompt moved means version 3 (5 %), 1 (95 %) now\n')
    assert.equal(await words('label', 'moved', 'canary', '--remove'), 'prompt moved has no label canary now\n')
  })

  it('say that others have to look, where, and end with 3 while nothing is moved, unless an admin has a reason', async t => {
    const folder = await createTemporaryFolder()
    t.after(folder.remove)
    await folder.write('operator.yaml', 'labels: { production: { approvals: 1 } }')
    const service = await serve(t, { OPERATOR_FILE: join(folder.path, 'operator.yaml') })
    const { aps, rendered } = await open('looked', service)
    assert.equal((await aps(['prompt', 'label', 'looked', 'production', '1', '--override', 'the first'])).code, 0)
    for (const args of [['label', 'looked', 'production', '2'], ['label', 'looked', 'production', '--remove']]) {
      const { code, stderr } = await aps(['prompt', ...args])
      assert.equal(code, 3)
      const [, id = ''] = /^aps: production was not moved yet: others have to look first, at change request ([0-9a-f]{32}); aps session show \1, or http:\S+\/console\/sessions\/\1\n$/.exec(stderr) ?? []
      assert.match((await aps(['session', 'show', id])).stdout, /waiting_approval/)
    }
    assert.equal(await rendered('?label=production'), 'one')
    assert.equal((await aps(['prompt', 'label', 'looked', 'production', '2', '--override', 'an emergency'])).code, 0)
    assert.equal((await aps(['prompt', 'label', 'looked', 'production', '--remove', '--override', 'over'])).code, 0)
  })

  it('go back to what a label meant before', async () => {
    const { words, aps, rendered } = await open('gone-back')
    await words('label', 'gone-back', 'production', '1')
    assert.match(await words('rollback', 'gone-back', 'production'), /^aps: the label production of prompt gone-back meant nothing before\n$/)
    await words('label', 'gone-back', 'production', '3')
    assert.equal(await words('rollback', 'gone-back', 'production'), 'production of prompt gone-back means version 1 again\n')
    assert.equal(await rendered('?label=production'), 'one')
    assert.equal((await aps(['prompt', 'rollback', 'gone-back', 'nope'])).code, 1)
  })

  it('roll back once for one state, and further only with --again', async () => {
    const { words, rendered } = await open('again')
    for (const version of ['1', '2', '3']) await words('label', 'again', 'production', version)
    assert.equal(await words('rollback', 'again', 'production'), 'production of prompt again means version 2 again\n')
    const done = /^production of prompt again was rolled back at \S+ already, and means version 2; --again goes back to version 1\n$/
    assert.match(await words('rollback', 'again', 'production'), done)
    assert.match(await words('rollback', 'again', 'production'), done)
    assert.equal(await rendered('?label=production'), 'two')
    assert.equal(await words('rollback', 'again', 'production', '--again'), 'production of prompt again means version 1 again\n')
    assert.match(await words('rollback', 'again', 'production'), /already, and means version 1; before that it meant nothing\n$/)
    assert.match(await words('rollback', 'again', 'production', '--again'), /^aps: the label production of prompt again meant nothing before\n$/)
    await words('label', 'again', 'production', '3')
    assert.equal(await words('rollback', 'again', 'production'), 'production of prompt again means version 1 again\n')
  })

  it('bring back a label that was removed', async () => {
    const { words } = await open('removed')
    await words('label', 'removed', 'staging', '2')
    await words('label', 'removed', 'staging', '--remove')
    assert.equal(await words('rollback', 'removed', 'staging'), 'staging of prompt removed means version 2 again\n')
  })

  it('publish a version again', async () => {
    const { words, rendered } = await open('restored')
    assert.equal(await words('restore', 'restored', '1', '--note', 'better'), 'prompt restored is what version 1 was, as version 4\n')
    assert.equal(await rendered(), 'one')
  })

  it('end with 2 for what is no version, and 1 for one that is not there', async () => {
    const { aps } = await open('refused')
    const codeOf = async (...args: readonly string[]) => (await aps(['prompt', ...args])).code
    assert.deepEqual([await codeOf('label', 'refused', 'x', 'seven'), await codeOf('label', 'refused', 'x'), await codeOf('label', 'refused', 'x', '9'), await codeOf('restore', 'refused', '9')], [2, 2, 1, 1])
  })
})

describe('aps push --label', () => {
  it('lets the label mean what the folder has, once all is stored, also where nothing has changed', async t => {
    const service = await serve(t)
    const { url, post } = service
    const { rendered } = await open('greet', service)
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
    const { url, get } = await serve(t)
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
