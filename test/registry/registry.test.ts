import assert from 'node:assert/strict'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { contentHash } from '../../src/base/json.ts'
import { Environs } from '../../src/registry/kinds/environ-kind.ts'
import { promptKind } from '../../src/registry/kinds/prompt-kind.ts'
import { createDirectoryStore } from '../../src/store/directory-store.ts'
import { recordedLog, registered } from '../helpers/registered.ts'
import { createTemporaryFolder } from '../helpers/temporary-folder.ts'
import { waitFor } from '../helpers/wait-for.ts'
import { storeKeys } from '../helpers/store-keys.ts'

const evaluator = {
  name: 'evaluator',
  version: '1.0.0',
  engines: { name: 'ai-prompt-shell', version: '>=1.0.0' },
  contributes: { prompts: [{ name: 'quality', messages: [{ role: 'user', content: '{{.vscode.rules}}' }] }] }
}

describe('Registry: prompts', () => {
  it('offers direct templates and prompts of extensions', async t => {
    const { registry } = await registered(t, { 'extensions:evaluator': evaluator, 'templates:review:short': 'Review {{code}}' })
    assert.deepEqual([...registry.generation.prompts.keys()].sort(), ['evaluator.quality', 'review.short'])
  })

  it('names prompts by the name of their extension, not by its key', async t => {
    const { registry } = await registered(t, { 'extensions:other:key': evaluator })
    assert.deepEqual([...registry.generation.prompts.keys()], ['evaluator.quality'])
    assert.deepEqual([...registry.generation.extensions.keys()], ['other.key'])
  })

  it('lets a direct template win over a prompt of an extension', async t => {
    const { registry } = await registered(t, { 'extensions:evaluator': evaluator, 'templates:evaluator:quality': 'direct' })
    assert.equal(registry.generation.prompts.get('evaluator.quality')?.entry.origin, 'direct')
    assert.ok(registry.generation.extensions.get('evaluator')?.diagnostics.some(({ code }) => code === 'PROMPT_SHADOWED'))
  })

  it('lets the extension with the smallest key win', async t => {
    const other = { ...evaluator, version: '2.0.0', contributes: { prompts: [{ name: 'quality', userPrompt: 'other' }] } }
    const { registry } = await registered(t, { 'extensions:b': evaluator, 'extensions:a': other })
    assert.equal(registry.generation.prompts.get('evaluator.quality')?.entry.definition.form, 'text')
  })

  const forms = [
    ['an object with messages', { messages: [{ role: 'user', content: 'x' }] }, 'messages'],
    ['an object with userPrompt', { userPrompt: 'x' }, 'text'],
    ['an object with prompt', { prompt: 'x' }, 'text'],
    ['a bare message list', [{ role: 'system', content: 'x' }, { role: 'user', content: 'y' }], 'messages'],
    ['a JSON string', '"x"', 'text'],
    ['a plain text', 'x', 'text'],
    ['a text that begins with a tag', '{{x}}', 'text']
  ] as const
  for (const [form, value, expected] of forms) {
    it(`takes ${form}`, async t => {
      const { registry } = await registered(t, { 'templates:x': value })
      assert.equal(registry.generation.prompts.get('x')?.entry.definition.form, expected)
      assert.deepEqual(registry.problems(), [])
    })
  }

  const badForms = [
    ['neither messages nor a text', { description: 'x' }, /exactly one of messages, userPrompt or prompt is expected, and it has "description"/],
    ['both messages and a text', { userPrompt: 'x', messages: [{ role: 'user', content: 'x' }] }, /exactly one of/],
    ['a content that is no text', { messages: [{ role: 'user', content: { type: 'Program', body: [] } }] }, /content must be a string or a list, not an object/],
    ['a text that is a syntax tree', { userPrompt: { type: 'Program' } }, /userPrompt must be a string, not an object/],
    ['an unknown role', { messages: [{ role: 'root', content: 'x' }] }, /messages\.0\.role must be one of system, .*, not "root"/],
    ['parameters of another type', { userPrompt: 'x', parameters: 5 }, /parameters must be a list or an object or null, not 5/],
    ['a message without its role', { messages: [{ content: 'x' }] }, /messages\.0 needs "role", and it has "content"/],
    ['no message at all', { messages: [] }, /messages must not be empty/],
    ['a member that has no place', { userPrompt: 'x', defaults: { toolLoop: { tool: [] } } }, /defaults\.toolLoop must not have "tool"/],
    ['a schema that is none', { userPrompt: 'x', parameters: { type: 'object', properties: { a: { type: 'nonsense' } } } }, /parameters/]
  ] as const
  for (const [mistake, value, reason] of badForms) {
    it(`rejects ${mistake}`, async t => {
      const { registry } = await registered(t, { 'templates:x': value })
      assert.equal(registry.generation.prompts.has('x'), false)
      assert.match(registry.problems()[0]?.diagnostics[0]?.message ?? '', reason)
    })
  }

  it('lists a prompt with a syntax error as invalid, with its place', async t => {
    const { registry } = await registered(t, { 'templates:x': { messages: [{ role: 'system', content: 'fine' }, { role: 'user', content: 'a\n{{if .x}}' }], syntax: 'go' } })
    const prompt = registry.generation.prompts.get('x')
    assert.equal(prompt?.state, 'invalid')
    const [diagnostic] = prompt?.diagnostics ?? []
    assert.equal(diagnostic?.code, 'SYNTAX')
    assert.equal(diagnostic?.messageIndex, 1)
    assert.equal(diagnostic?.line, 2)
  })

  it('asks for the syntax when a text has forms of both languages', async t => {
    const { registry } = await registered(t, { 'templates:x': '{{if .a}}{{#each b}}{{/each}}{{end}}' })
    const [diagnostic] = registry.generation.prompts.get('x')?.diagnostics ?? []
    assert.equal(diagnostic?.code, 'SYNTAX_MIXED')
    assert.equal(diagnostic?.message, 'the text has forms of both languages: ".a" at line 1, column 1, and "{{#"')
  })
})

describe('Registry: links', () => {
  it('makes a prompt valid again when its missing partial appears', async t => {
    const { registry, write } = await registered(t, { 'templates:outer': 'a {{> header}}' })
    assert.equal(registry.generation.prompts.get('outer')?.state, 'unlinked')
    await write({ 'templates:header': 'h' })
    assert.equal(registry.generation.prompts.get('outer')?.state, 'valid')
  })

  it('leaves other prompts alone when a name cannot be resolved', async t => {
    const { registry } = await registered(t, { 'templates:bad': { userPrompt: '{{nosuchtool "x"}}', syntax: 'go' }, 'templates:good': 'x' })
    assert.equal(registry.generation.prompts.get('bad')?.state, 'unlinked')
    assert.match(registry.generation.prompts.get('bad')?.diagnostics[0]?.message ?? '', /nosuchtool/)
    assert.equal(registry.generation.prompts.get('good')?.state, 'valid')
  })

  it('reports what a partial lacks on the prompt that includes it', async t => {
    const { registry } = await registered(t, { 'templates:outer': '{{> middle}}', 'templates:middle': '{{> gone}}' })
    assert.match(registry.generation.prompts.get('outer')?.diagnostics[0]?.message ?? '', /in partial "middle": .*"gone"/)
  })

  it('prefers a partial of the same extension', async t => {
    const { registry, write } = await registered(t, { 'templates:a:page': '{{> header}}', 'templates:header': 'global' })
    const before = registry.generation.prompts.get('a.page')?.revision
    await write({ 'templates:a:header': 'own' })
    assert.notEqual(registry.generation.prompts.get('a.page')?.revision, before)
  })

  it('changes the revision of a prompt when a prompt that it includes changes', async t => {
    const { registry, write } = await registered(t, { 'templates:outer': '{{> header}}', 'templates:header': 'one', 'templates:other': 'x' })
    const revision = (id: string) => registry.generation.prompts.get(id)?.revision
    const before = [revision('outer'), revision('other')]
    await write({ 'templates:header': 'two' })
    assert.notEqual(revision('outer'), before[0])
    assert.equal(revision('other'), before[1])
  })

  it('gives two registries with the same content the same revisions', async t => {
    const registrations = { 'extensions:e': evaluator, 'templates:x': 'a {{> y}}', 'templates:y': 'b' }
    const first = await registered(t, registrations)
    const second = await registered(t, Object.fromEntries(Object.entries(registrations).reverse()))
    assert.equal(first.registry.generation.revision, second.registry.generation.revision)
    assert.equal(first.registry.generation.prompts.get('x')?.revision, second.registry.generation.prompts.get('x')?.revision)
  })

  it('lets partials include each other', async t => {
    const { registry } = await registered(t, { 'templates:a': '{{#if x}}{{> b}}{{/if}}', 'templates:b': '{{#if x}}{{> a}}{{/if}}' })
    assert.equal(registry.generation.prompts.get('a')?.state, 'valid')
  })
})

describe('Registry: extensions', () => {
  it('is active when everything is there', async t => {
    const { registry } = await registered(t, { 'extensions:e': evaluator })
    assert.equal(registry.generation.extensions.get('e')?.state, 'active')
  })

  const incompatible = [
    ['another engine', { name: 'other-engine' }],
    ['a newer engine', { name: 'ai-prompt-shell', version: '>=2.0.0' }],
    ['a range that is none', { name: 'ai-prompt-shell', version: 'latest and greatest' }]
  ] as const
  for (const [what, engines] of incompatible) {
    it(`is incompatible when it asks for ${what}, and offers no prompts`, async t => {
      const { registry } = await registered(t, { 'extensions:e': { ...evaluator, engines } })
      assert.equal(registry.generation.extensions.get('e')?.state, 'incompatible')
      assert.equal(registry.generation.prompts.size, 0)
    })
  }

  it('says which of two prompts of one name is offered, and which extension it is of', async t => {
    const twice = { name: 'twice', contributes: { prompts: [{ name: 'a', userPrompt: 'first' }, { name: 'a', userPrompt: 'second' }] } }
    const { registry, write } = await registered(t, { 'extensions:b': twice })
    const told = (id: string) => registry.generation.extensions.get(id)?.diagnostics.filter(({ code }) => code === 'PROMPT_SHADOWED').map(({ message }) => message)
    assert.deepEqual(told('b'), ['prompt twice.a gives way to the one before it'])
    await write({ 'extensions:a': { name: 'twice', contributes: { prompts: [{ name: 'a', userPrompt: 'third' }] } } })
    assert.deepEqual(told('b'), ['prompt twice.a gives way to another extension of that name', 'prompt twice.a gives way to another extension of that name'])
  })

  it('says of two keys that differ in . and : only which of them is served', async t => {
    const { registry, remove } = await registered(t, { 'templates:a.b:c': 'first', 'templates:a:b:c': 'second', 'templates:a:b': 'other' })
    const told = () => registry.problems().map(({ key, diagnostics }) => [key, ...diagnostics.map(({ code, message }) => `${code} ${message}`)])
    assert.deepEqual(told(), [['shenma:templates:a.b:c', 'KEY_TAKEN its id a.b.c is that of shenma:templates:a:b:c, which is served in its place']])
    assert.equal(registry.generation.prompts.get('a.b.c')?.entry.definition.source['userPrompt'], 'second')
    await remove('templates:a:b:c')
    assert.deepEqual(told(), [])
    assert.equal(registry.generation.prompts.get('a.b.c')?.entry.definition.source['userPrompt'], 'first')
  })

  it('says what is wrong with a key before it says that another has its place', async t => {
    const { registry, write } = await registered(t, { 'templates:a.b:c': 'first', 'templates:a:b:c': 'second' })
    await write({ 'templates:a.b:c': ' ' })
    assert.deepEqual(registry.problems().map(({ key, diagnostics, servesLastGood }) => [key, diagnostics.map(({ code }) => code), servesLastGood]), [['shenma:templates:a.b:c', ['VALUE_INVALID', 'KEY_TAKEN'], false]])
  })

  it('says of two extensions whose keys differ in . and : only which of them is listed', async t => {
    const of = (name: string) => ({ name, contributes: { prompts: [] } })
    const { registry } = await registered(t, { 'extensions:a.b': of('first'), 'extensions:a:b': of('second') })
    const extension = registry.generation.extensions.get('a.b')
    assert.equal(extension?.definition.name, 'second')
    assert.deepEqual(extension.diagnostics.filter(({ code }) => code === 'KEY_TAKEN').map(({ message }) => message), ['shenma:extensions:a.b has the same id as shenma:extensions:a:b, and is not listed'])
  })

  it('rejects an extension whose prompt is none', async t => {
    const { registry } = await registered(t, { 'extensions:e': { name: 'e', contributes: { prompts: [null] } } })
    assert.equal(registry.problems()[0]?.diagnostics[0]?.code, 'SCHEMA')
  })

  it('is degraded without a dependence that aborts, and still offers its prompts', async t => {
    const dependences = [{ name: 'scan', version: '^1.0.0', failStrategy: 'abort' }]
    const { registry, write } = await registered(t, { 'extensions:e': { ...evaluator, contributes: { ...evaluator.contributes, dependences } } })
    assert.equal(registry.generation.extensions.get('e')?.state, 'degraded')
    assert.equal(registry.generation.prompts.has('evaluator.quality'), true)
    await write({ 'extensions:scan': { name: 'scan', version: '1.2.0', contributes: { prompts: [] } } })
    assert.equal(registry.generation.extensions.get('e')?.state, 'active')
  })

  it('is active with a warning without a dependence that is ignored', async t => {
    const dependences = [{ name: 'scan', failStrategy: 'ignore' }]
    const { registry } = await registered(t, { 'extensions:e': { ...evaluator, contributes: { ...evaluator.contributes, dependences } } })
    const extension = registry.generation.extensions.get('e')
    assert.equal(extension?.state, 'active')
    assert.ok(extension?.diagnostics.some(({ code, severity }) => code === 'DEPENDENCE_MISSING' && severity === 'warning'))
  })

  it('says which version of a dependence is there in place of the wanted one', async t => {
    const dependences = [{ name: 'scan', version: '^3.0.0' }]
    const { registry } = await registered(t, {
      'extensions:e': { ...evaluator, contributes: { ...evaluator.contributes, dependences } },
      'extensions:scan': { name: 'scan', version: '1.2.0', contributes: { prompts: [] } }
    })
    const told = registry.generation.extensions.get('e')?.diagnostics.find(({ code }) => code === 'DEPENDENCE_MISSING')
    assert.equal(told?.message, 'it depends on scan ^3.0.0, and what is registered is 1.2.0')
  })

  it('lists other types as inactive', async t => {
    const { registry } = await registered(t, { 'extensions:e': { name: 'deploy', extensionType: 'theme', contributes: { themes: [] } } })
    assert.equal(registry.generation.extensions.get('e')?.state, 'inactive')
  })
})

describe('Registry: bad entries and outages', () => {
  it('lists a template that overflows the parser\'s stack as invalid, and leaves its neighbours alone', async t => {
    const { registry } = await registered(t, { 'templates:good': 'fine', 'templates:deep': { userPrompt: `{{.a ${'| f '.repeat(15_000)}}}`, syntax: 'go' } })
    assert.deepEqual([...registry.generation.prompts.values()].map(({ id, state }) => `${id} ${state}`).sort(), ['deep invalid', 'good valid'])
  })

  it('keeps the last good version of an entry that breaks', async t => {
    const log = recordedLog()
    const { registry, write } = await registered(t, { 'templates:x': 'good', 'templates:y': 'other' }, { log })
    await write({ 'templates:x': '{"broken' })
    assert.equal(registry.generation.prompts.get('x')?.entry.definition.texts[0]?.text, 'good')
    const [problem] = registry.problems()
    assert.equal(problem?.key, 'shenma:templates:x')
    assert.equal(problem?.servesLastGood, true)
    assert.ok(log.lines.some(({ message }) => message === 'entry rejected'))
  })

  it('keeps the last good version of a prompt whose new text has a syntax error', async t => {
    const { registry, write } = await registered(t, { 'templates:x': 'good {{#if a}}{{/if}}' })
    await write({ 'templates:x': 'bad {{#if a}}' })
    assert.equal(registry.generation.prompts.get('x')?.state, 'valid')
    assert.equal(registry.problems()[0]?.diagnostics[0]?.code, 'SYNTAX')
  })

  it('tells the log the place of a mistake', async t => {
    const log = recordedLog()
    await registered(t, { 'templates:x': '{\n"broken' }, { log })
    assert.match(JSON.stringify(log.lines), /"entry rejected"/)
    assert.match(JSON.stringify(log.lines), /at line 2, column \d+"/)
  })

  it('forgets a version that never worked when the next text cannot be read', async t => {
    const { registry, write } = await registered(t, { 'templates:x': 'never {{#if a}}' })
    await write({ 'templates:x': '{"broken' })
    assert.equal(registry.generation.prompts.has('x'), false)
    assert.deepEqual(registry.problems().map(({ servesLastGood, diagnostics }) => [servesLastGood, diagnostics[0]?.code]), [[false, 'VALUE_INVALID']])
  })

  it('keeps those prompts of an extension that work when its next text cannot be read', async t => {
    const prompts = [{ name: 'good', userPrompt: 'good' }, { name: 'bad', userPrompt: '{{#if' }]
    const { registry, write } = await registered(t, { 'extensions:e': { name: 'e', contributes: { prompts } } })
    await write({ 'extensions:e': '{"broken' })
    assert.equal(registry.generation.prompts.get('e.good')?.state, 'valid')
    assert.equal(registry.problems()[0]?.servesLastGood, true)
  })

  it('serves the newest recorded version that can be compiled when a prompt is broken and no good one was read', async t => {
    const log = recordedLog()
    const version = (text: string) => ({ entry: { userPrompt: text } })
    const note = (n: number, text: string) => ({ n, tag: contentHash({ userPrompt: text }), at: '2026-11-01T00:00:00.000Z', by: 'ana' })
    const { registry, write } = await registered(t, {
      'templates:team:x': '{"broken',
      'templates:bad': 'bad {{#if a}}',
      'templates:good': 'good',
      'versions:team:x:1': version('one'),
      'versions:team:x:2': version('two'),
      'versions:team:x:3': version('three {{#if}}'),
      'releases:team:x': { next: 5, labels: {}, versions: [note(4, 'four'), note(3, 'three {{#if}}'), note(2, 'two'), note(1, 'one')], moves: [] }
    }, { log })
    assert.equal(registry.generation.prompts.get('team.x')?.entry.definition.texts[0]?.text, 'two')
    assert.deepEqual(registry.problems().map(({ key, servesLastGood }) => [key, servesLastGood]), [['shenma:templates:team:x', true]])
    assert.deepEqual([registry.generation.releases.get('team.x')?.latest, registry.stale(promptKind)], [2, 1])
    const told = log.lines.map(({ message, details }) => [message, 'key' in details ? details.key : '']).filter(([message]) => message !== 'registry published')
    assert.deepEqual(told, [
      ['entry rejected', 'shenma:templates:team:x'],
      ['entry rejected', 'shenma:templates:bad'],
      ['a recorded version is served in place of what is stored', 'shenma:templates:team:x'],
      ['3 prompts, 1 unusable: GET /api/status/entries', '']
    ])
    await write({ 'templates:team:x': 'mended' })
    assert.deepEqual([registry.problems(), registry.stale(promptKind)], [[], 0])
  })

  it('takes an entry that was mended', async t => {
    const { registry, write } = await registered(t, { 'templates:x': '{"broken' })
    assert.equal(registry.generation.prompts.has('x'), false)
    await write({ 'templates:x': 'mended' })
    assert.equal(registry.generation.prompts.get('x')?.state, 'valid')
    assert.deepEqual(registry.problems(), [])
  })

  it('drops an entry that was deleted', async t => {
    const { registry, remove } = await registered(t, { 'templates:x': 'a', 'templates:y': 'b' })
    await remove('templates:x')
    assert.deepEqual([...registry.generation.prompts.keys()], ['y'])
  })

  it('keeps everything while the store fails, and says so', async t => {
    const { registry, store } = await registered(t, { 'templates:x': 'a' })
    store.setProblem('it is away')
    await registry.refresh()
    assert.equal(registry.generation.prompts.has('x'), true)
    assert.equal(registry.status().problem, 'it is away')
    store.setProblem(undefined)
    await registry.refresh()
    assert.equal(registry.status().problem, undefined)
  })

  it('holds what a store has lost while it was away, though it told of changes just before', async t => {
    const { registry, store } = await registered(t, { 'templates:x': 'a', 'environs:m:y': 1 })
    store.setProblem('it is away')
    store.set('shenma:templates:x', 'b')
    store.set('shenma:environs:m:y', '2')
    await waitFor('the changes not to be read', () => registry.status().problem !== undefined)
    store.lose()
    store.setProblem(undefined)
    await waitFor('the loss to be read', () => registry.status().problem === undefined)
    await registry.refresh()
    assert.deepEqual([...registry.status().held].sort(), ['environs', 'templates'])
    assert.deepEqual([registry.generation.prompts.has('x'), registry.environs.has('m.y')], [true, true])
  })

  it('holds what a store loses between a listing and the reading that follows', async t => {
    const { registry, store } = await registered(t, { 'templates:x': 'a', 'environs:m:y': 1 })
    const { scan } = store
    store.scan = async function * (prefix) {
      yield * scan(prefix)
      store.scan = scan
      store.lose()
    }
    await registry.refresh()
    await waitFor('the hold', () => registry.status().held.length === 2)
    assert.deepEqual([registry.generation.prompts.has('x'), registry.environs.has('m.y')], [true, true])
  })

  it('holds what a store loses while a change is being read', async t => {
    const { registry, store } = await registered(t, { 'templates:x': 'a' })
    const { read } = store
    store.read = async keys => {
      store.read = read
      // Told after the registry, which watches for longer.
      const told = new Promise<void>(resolve => { void store.watch(() => resolve()) })
      store.lose()
      const values = await read(keys)
      await told
      return values
    }
    store.set('shenma:templates:x', 'b')
    await waitFor('the hold', () => registry.status().held.length === 1)
    assert.equal(registry.generation.prompts.has('x'), true)
  })

  it('holds what a store has lost when it is back, whoever asked for a reload while it was away', async t => {
    const { registry, store } = await registered(t, { 'templates:x': 'a' })
    store.setProblem('it is away')
    await registry.reload()
    store.lose()
    store.setProblem(undefined)
    await registry.refresh()
    assert.deepEqual([registry.status().held, registry.generation.prompts.has('x')], [['templates'], true])
  })

  it('drops 25,000 entries of a kind that were deleted at once', async t => {
    const names = Array.from({ length: 25_000 }, (_, index) => `environs:m:${index}`)
    const { registry, store } = await registered(t, Object.fromEntries(names.map(name => [name, '1'])))
    for (const name of names) store.delete(`shenma:${name}`)
    await waitFor('all to be gone', () => registry.environs.index.size === 0)
    assert.deepEqual(registry.status().held, [])
  })

  it('drops what was deleted with its folder, the last of its kind too', async t => {
    const folder = await createTemporaryFolder()
    t.after(folder.remove)
    await folder.write('templates/sub/x.json', '"a"')
    await folder.write('environs/m/y.json', '1')
    const store = await createDirectoryStore({ directory: folder.path, keys: storeKeys() })
    t.after(store.close)
    const { registry } = await registered(t, {}, { store, environs: new Environs({ store, prefix: 'shenma:environs:' }) })
    assert.deepEqual([registry.generation.prompts.has('sub.x'), registry.environs.has('m.y')], [true, true])
    await Promise.all(['templates', 'environs'].map(kind => rm(join(folder.path, kind), { recursive: true })))
    await waitFor('both to be gone', () => registry.generation.prompts.size === 0 && registry.environs.index.size === 0)
    await registry.refresh()
    assert.deepEqual(registry.status().held, [])
  })

  it('starts without a store and loads when it comes', async t => {
    const { registry, store } = await registered(t, {})
    store.setProblem('it is away')
    await registry.refresh()
    store.setProblem(undefined)
    store.set('shenma:templates:x', 'a')
    await registry.refresh()
    assert.equal(registry.generation.prompts.has('x'), true)
  })

  it('publishes no new generation when nothing has changed', async t => {
    const { registry, write } = await registered(t, { 'templates:x': 'a' })
    const before = registry.generation
    await write({ 'templates:x': 'a' })
    assert.equal(registry.generation, before)
  })

  it('rejects a key of a shared variable that no path can name', async t => {
    const { registry } = await registered(t, { 'environs:a.b:c': '1', 'environs:a::b': '1', 'environs:good': '1' })
    assert.deepEqual([...registry.environs.index], ['good'])
    assert.deepEqual(registry.problems().map(({ key }) => key).sort(), ['shenma:environs:a.b:c', 'shenma:environs:a::b'])
  })

  it('rejects the key of an entry without an id, which nobody can ask for', async t => {
    const { registry } = await registered(t, { 'templates:': 'a', 'extensions:': { name: 'e', contributes: { prompts: [{ name: 'p', userPrompt: 'x' }] } }, 'tools:': { url: 'http://127.0.0.1:1/' } })
    const { prompts, extensions, tools } = registry.generation
    assert.deepEqual([prompts.size, extensions.size, tools.size], [0, 0, 0])
    assert.deepEqual(registry.problems().map(({ key, diagnostics }) => [key, diagnostics[0]?.code]).sort(), ['shenma:extensions:', 'shenma:templates:', 'shenma:tools:'].map(key => [key, 'KEY_INVALID']))
  })

  it('takes prototype words as names', async t => {
    const { registry } = await registered(t, { 'environs:__proto__:x': '1', 'templates:constructor': 'a', 'templates:toString': 'b' })
    assert.deepEqual([...registry.generation.prompts.keys()].sort(), ['constructor', 'toString'])
    assert.equal(registry.environs.has('__proto__.x'), true)
  })

  it('serves one refresh to all that ask while it runs', async t => {
    const { registry, store } = await registered(t, { 'templates:x': 'a' })
    let listings = 0
    const scan = store.scan.bind(store)
    store.scan = prefix => {
      listings++
      return scan(prefix)
    }
    await Promise.all(Array.from({ length: 50 }, () => registry.refresh()))
    assert.equal(listings, 2)
  })
})

const badValues: ReadonlyArray<readonly [string, string | Uint8Array]> = [
  ['broken JSON', '{"a":'],
  ['a byte order mark', '\uFEFF{"a":1}'],
  ['invalid UTF-8', Uint8Array.of(0x22, 0xc3, 0x28, 0x22)],
  ['a value beyond the size limit', `"${'x'.repeat(1024 * 1024)}"`],
  ['JSON that nests a million deep', '['.repeat(1_000_000 / 2)],
  ['an unfinished string', '"abc'],
  ['a trailing comma', '[1,]'],
  ['a NUL byte in a string', '"a\u0000b"']
]

describe('Registry: exactly the bad value is rejected, by key and reason', () => {
  for (const kind of ['extensions', 'templates', 'environs', 'tools'] as const) {
    for (const [what, value] of badValues) {
      it(`${what} among good ${kind}`, async t => {
        const good = Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`${kind}:good${index}`, goodValue(kind, index)]))
        const { registry, store } = await registered(t, good)
        store.set(`shenma:${kind}:bad`, value)
        await registry.refresh()
        assert.deepEqual(registry.problems().map(({ key }) => key), [`shenma:${kind}:bad`])
        assert.notEqual(registry.problems()[0]?.diagnostics[0]?.message, '')
        const sizes = { extensions: registry.generation.extensions.size, templates: registry.generation.prompts.size, environs: registry.environs.index.size - 1, tools: registry.generation.tools.size }
        assert.equal(sizes[kind], 20)
      })
    }
  }
})

function goodValue (kind: string, index: number): unknown {
  switch (kind) {
    case 'extensions': return { ...evaluator, name: `evaluator${index}`, extensionType: 'skill', contributes: {} }
    case 'tools': return { name: `t${index}`, type: 'restful', url: 'http://127.0.0.1/x' }
    case 'environs': return '"text"'
    default: return 'text'
  }
}
