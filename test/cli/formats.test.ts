import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { parse } from 'yaml'
import { createDirectoryStore } from '../../src/store/directory-store.ts'
import { openReplica } from '../helpers/replica.ts'
import { runApsHere } from '../helpers/aps.ts'
import { quietLog } from '../helpers/quiet-log.ts'
import { startService } from '../helpers/service.ts'
import { shared } from '../helpers/shared.ts'
import { createTemporaryFolder } from '../helpers/temporary-folder.ts'

/** Values, and assertions, of which promptfoo would make something else if they were written as they are. */
const VARS = { list: ['a'], n: 5, text: '5', z: null, json: '{"a":1}', braces: '{{n}}', file: 'file://a.txt', 'user-name': 'Ada', prompt: 'mine' }
const ASSERTIONS = [...['{{n}} {% x {# y #}', 'file://a.txt', 'package:x', 'profile://a'].map(value => ({ type: 'contains', value })), { type: 'equals', value: { a: '{{' } }]

const EXPORT = 'examples/imports/langfuse.json'

async function open (t: TestContext) {
  const folder = await createTemporaryFolder()
  t.after(folder.remove)
  return { folder, yaml: async (file: string) => parse(await readFile(join(folder.path, file), 'utf8')) as unknown }
}

/** A service that keeps versions, with prompts and tests of prompts. */
const served = shared(async t => {
  const service = await startService(t, {
    'templates:movies:critic': 'mine',
    'templates:tone': 'mine',
    'templates:greet': 'Hello {{variables.name}}, {{variables.list}}',
    'templates:tested': 'Hello {{variables.name}}',
    'tests:tested': [
      { description: 'names', vars: { name: 'Ada' }, assert: [{ type: 'contains', value: 'Ada' }] },
      { description: 'asks', run: 'chat', vars: { name: { first: 'Ada' } }, assert: [{ type: 'icontains', value: 'hello' }] },
      { description: 'calls', tools: 'live', vars: { name: 'x' }, assert: [{ type: 'regex', value: '^Hello' }] }
    ],
    'templates:team:faq': '{{json variables}}',
    'tests:team:faq': [{ vars: VARS, assert: ASSERTIONS }]
  }, { VERSIONS: 'http', LOG_LEVEL: 'silent' })
  const url = await service.listen()
  return { service, url, aps: (args: readonly string[], input?: string) => runApsHere(args, { APS_URL: url }, input) }
})

describe('aps import langfuse', () => {
  it('writes an export of three versions as versions, labels and what is newest, which a service serves', async t => {
    const { folder, yaml } = await open(t)
    const { code, stdout, stderr } = await runApsHere(['import', 'langfuse', EXPORT, '-o', folder.path])
    assert.deepEqual([code, stdout], [0, 'movies.critic\t1,2,3\tproduction=2,staging=3\n'], stderr)
    assert.deepEqual(await yaml('versions/movies/critic/1.yaml'), {
      entry: {
        syntax: 'handlebars',
        messages: [{ role: 'system', content: 'You are a movie critic.' }, { role: 'user', content: 'Do you like {{variables.movie}}?' }],
        defaults: { temperature: 0.7 },
        'x-langfuse': { tags: ['movies'] }
      }
    })

    const store = await createDirectoryStore({ directory: folder.path, keys: { prefix: 'shenma:', kinds: ['templates', 'releases', 'versions'].map(key => ({ key, onDemand: key === 'versions' })) }, log: quietLog() })
    const replica = await openReplica(store)
    t.after(async () => {
      await replica.close()
      await store.close()
    })
    const { body } = await replica.call('GET', '/api/prompts/movies.critic/versions')
    const { latest, versions, labels } = body as { latest: number, versions: Array<{ n: number, note?: string, source: string }>, labels: object }
    assert.deepEqual([latest, versions.map(({ n }) => n), labels], [3, [3, 2, 1], { production: 2, staging: 3 }])
    assert.deepEqual(versions.map(({ note, source }) => [note, source]), [['shorter', 'langfuse:3'], ['says how harsh', 'langfuse:2'], [undefined, 'langfuse:1']])
    const said = [{ role: 'user', content: '{{hello}}' }]
    const { body: rendered } = await replica.call('POST', '/api/render/prompts/movies.critic@production', { variables: { level: 'harsh', movie: 'Dune' }, messages: said })
    assert.deepEqual((rendered as { rendered_prompt: unknown }).rendered_prompt, [{ role: 'system', content: 'You are a harsh movie critic.' }, ...said, { role: 'user', content: 'Do you like Dune?' }])
  })

  it('publishes them to a service, which numbers them itself, and moves the labels', async () => {
    const { service, aps } = await served()
    const { code, stderr } = await aps(['import', 'langfuse', EXPORT, '--publish'])
    assert.equal(code, 0, stderr)
    const { json } = await service.get('/api/prompts/movies.critic/versions')
    assert.deepEqual(json['labels'], { production: 3, staging: 4 })
    const { json: rendered } = await service.post('/api/render/prompts/movies.critic@production', { variables: { level: 'kind', movie: 'Up' } })
    assert.equal((rendered['rendered_prompt'] as unknown as Array<{ content: string }>)[0]?.content, 'You are a kind movie critic.')
  })

  it('publishes references behind what they mean, with the numbers of the service, and once, however often it runs', async () => {
    const { service, aps } = await served()
    const exported = JSON.stringify([
      { name: 'answer', version: 1, prompt: 'a\n@@@langfusePrompt:name=tone|version=1@@@\nb @@@langfusePrompt:name=tone|label=production@@@ {{user-name}}', labels: ['production'] },
      { name: 'tone', version: 1, prompt: 'Be kind.' },
      { name: 'tone', version: 2, prompt: 'Be brief.' },
      { name: 'tone', version: 3, prompt: 'Be brief.', labels: ['production'] },
      { name: 'tone', version: 4, prompt: 'Be kind.', labels: ['staging'] }
    ])
    const runs = [1, 2].map(() => async () => await aps(['import', 'langfuse', '-', '--publish'], exported))
    for (const run of runs) {
      const { code, stdout, stderr } = await run()
      assert.deepEqual([code, stderr, stdout], [0, '', 'answer\t1\tproduction=1\ntone\t2,3,4\tproduction=3,staging=4\n'])
      const { json } = await service.get('/api/prompts/tone/versions')
      assert.deepEqual((json['versions'] as unknown as Array<{ source?: string }>).map(({ source }) => source), ['langfuse:4', 'langfuse:2', 'langfuse:1', undefined])
    }
    const { json } = await service.post('/api/render/prompts/answer', { variables: { 'user-name': 'Ada' } })
    assert.equal(json['rendered_prompt'], 'a\nBe kind.\nb Be brief. Ada')
  })

  it('publishes nothing of an export that cannot be imported whole', async () => {
    const { service, aps } = await served()
    const fine = { name: 'fine', version: 1, prompt: 'x' }
    for (const [items, reason] of [
      [[fine, { name: 'a', version: 1, prompt: [{ role: 'user', content: 7 }] }], /^a version 1: messages\.0\.content must be .*\naps: nothing was imported: 1 problem\n$/],
      [[fine, { name: 'a', version: 2, prompt: '@@@langfusePrompt:name=b|version=7@@@' }], /^aps: nothing was published: a version 2 refers to version 7 of b: expected it in the export/]
    ] as const) {
      const { code, stderr } = await aps(['import', 'langfuse', '-', '--publish'], JSON.stringify(items))
      assert.equal(code, 1)
      assert.match(stderr, reason)
    }
    assert.equal((await service.get('/api/prompts/fine')).status, 404)
  })

  it('writes over nothing unless told to, and wants to know where to', async t => {
    const { folder } = await open(t)
    assert.equal((await runApsHere(['import', 'langfuse', EXPORT, '-o', folder.path])).code, 0)
    const again = await runApsHere(['import', 'langfuse', EXPORT, '-o', folder.path])
    assert.equal(again.code, 1)
    assert.match(again.stderr, /nothing was written: .* has templates\/movies\/critic\.yaml/)
    assert.equal((await runApsHere(['import', 'langfuse', EXPORT, '-o', folder.path, '--overwrite'])).code, 0)
    assert.equal((await runApsHere(['import', 'langfuse', EXPORT])).code, 2)
    assert.equal((await runApsHere(['import', 'langfuse', 'package.json', '-o', folder.path])).code, 2)
  })
})

describe('aps import dotprompt', () => {
  it('writes files as YAML with the ids of their paths, and tells what it cannot', async t => {
    const { folder, yaml } = await open(t)
    await folder.write('in/team/greet.prompt', '---\nmodel: m\n---\nHello {{name}}')
    await folder.write('in/_header.prompt', 'Head')
    await folder.write('in/bad.prompt', 'a\n{{section "b"}}')
    const { code, stdout, stderr } = await runApsHere(['import', 'dotprompt', join(folder.path, 'in'), '-o', join(folder.path, 'out')])
    assert.equal(code, 1)
    assert.deepEqual(stdout.replaceAll(`${folder.path}/`, '').trim().split('\n').sort(), ['out/templates/header.yaml\theader', 'out/templates/team/greet.yaml\tteam.greet'])
    assert.match(stderr.replaceAll(`${folder.path}/`, ''), /^in\/bad\.prompt:2:1: has a \{\{section\}\}.*\naps: 1 of 3 files could not be taken over\n$/)
    assert.deepEqual(await yaml('out/templates/team/greet.yaml'), { syntax: 'handlebars', defaults: { model: 'm' }, 'x-dotprompt': {}, userPrompt: 'Hello {{name}}' })
  })
})

describe('aps export promptfoo', () => {
  it('writes a configuration whose provider is /v1, and whose cases know what a prompt needs', async () => {
    const { url, aps } = await served()
    const { code, stdout, stderr } = await aps(['export', 'promptfoo', 'greet'])
    assert.equal(code, 0, stderr)
    assert.deepEqual(parse(stdout), {
      description: `Prompts of ${url}`,
      prompts: [{ raw: 'greet\n', label: 'greet' }],
      providers: [{
        id: 'https',
        label: 'chat',
        config: {
          url: `${url}/v1/chat/completions`,
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: { model: 'prompt:{{prompt | trim}}', variables: '{{variables | dump}}' },
          transformResponse: 'json.choices[0].message.content'
        }
      }],
      tests: [{ vars: { variables: { name: '', list: '' } }, prompts: ['greet'], providers: ['chat'] }]
    })
  })

  it('has the cases that are stored beside prompts: those that render are given the defaults of tools, as here', async () => {
    const { url, aps } = await served()
    const { stdout, stderr } = await aps(['export', 'promptfoo', 'tested'])
    const { providers, tests } = parse(stdout) as { providers: Array<{ label: string, config: { url: string, body: unknown } }>, tests: unknown }
    assert.deepEqual(providers.map(({ label, config }) => [label, config.url]), [
      ['chat', `${url}/v1/chat/completions`],
      ['render', `${url}/api/render/prompts/{{prompt | trim | urlencode}}?tools=stub`],
      ['render with tools', `${url}/api/render/prompts/{{prompt | trim | urlencode}}`]
    ], stderr)
    assert.deepEqual(providers[1]?.config.body, { variables: '{{variables | dump}}' })
    assert.deepEqual(tests, [
      { description: 'names', assert: [{ type: 'contains', value: 'Ada' }], vars: { variables: { name: 'Ada' } }, prompts: ['tested'], providers: ['render'] },
      { description: 'asks', assert: [{ type: 'icontains', value: 'hello' }], vars: { variables: { name: { first: 'Ada' } } }, prompts: ['tested'], providers: ['chat'] },
      { description: 'calls', assert: [{ type: 'regex', value: '^Hello' }], vars: { variables: { name: 'x' } }, prompts: ['tested'], providers: ['render with tools'] }
    ])
  })

  it('gives variables as they are, and texts of assertions so that promptfoo renders them to what they are', async () => {
    const { aps } = await served()
    const { stdout, stderr } = await aps(['export', 'promptfoo', 'team.faq'])
    const { providers, prompts, tests } = parse(stdout) as { providers: Array<{ label: string }>, prompts: unknown, tests: Array<{ vars: unknown, assert: Array<{ value: unknown }> }> }
    assert.deepEqual([providers.map(({ label }) => label), prompts], [['render'], [{ raw: 'team.faq\n', label: 'team.faq' }]], stderr)
    assert.deepEqual(tests[0]?.vars, { variables: VARS })
    assert.deepEqual(tests[0]?.assert.map(({ value }) => value), [
      "{{ '{{' }}n}} {{ '{%' }} x {{ '{#' }} y {{ '#}' }}", "{{ 'file' }}://a.txt", "{{ 'package' }}:x", 'profile://a', { a: '{{' }
    ])
  })
})
