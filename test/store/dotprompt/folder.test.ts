import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { describe, it, type TestContext } from 'node:test'
import { createDirectoryStore } from '../../../src/store/directory-store.ts'
import { type StoreKeys } from '../../../src/store/store.ts'
import { listAll } from '../../helpers/list-all.ts'
import { quietLog } from '../../helpers/quiet-log.ts'
import { createTemporaryFolder } from '../../helpers/temporary-folder.ts'

const KEYS: StoreKeys = { prefix: 'shenma:', kinds: [{ key: 'templates', hasDotprompt: true }, { key: 'tools' }] }

async function open (t: TestContext, files: Readonly<Record<string, string>>) {
  const folder = await createTemporaryFolder()
  t.after(folder.remove)
  for (const [file, text] of Object.entries(files)) await folder.write(file, text)
  const warnings: string[] = []
  const store = await createDirectoryStore({ directory: folder.path, keys: KEYS, log: quietLog({ warn: (_fields: object, message: string) => { warnings.push(message) } }) })
  t.after(() => store.close())
  const list = async () => (await listAll(store, 'shenma:')).toSorted()
  const read = async (key: string) => (await store.read([`shenma:${key}`]))[0]
  return { folder, store, warnings, list, read }
}

describe('A folder with .prompt files', () => {
  it('has each as the JSON of a prompt, under the key of its path', async t => {
    const { list, read } = await open(t, { 'templates/team/greet.prompt': '---\nmodel: m\n---\nHello {{name}}', 'templates/team/_header.prompt': 'Head' })
    assert.deepEqual(await list(), ['shenma:templates:team:greet', 'shenma:templates:team:header'])
    assert.deepEqual(await read('templates:team:greet'), { kind: 'text', text: '{"syntax":"handlebars","defaults":{"model":"m"},"x-dotprompt":{},"userPrompt":"Hello {{name}}"}' })
    assert.deepEqual(await read('templates:team:header'), { kind: 'text', text: '{"syntax":"handlebars","x-dotprompt":{},"userPrompt":"Head"}' })
  })

  it('reads none of them as anything else than a prompt', async t => {
    const { list } = await open(t, { 'tools/a.prompt': 'x', 'templates/.hidden.prompt': 'x', 'templates/_.prompt': 'x' })
    assert.deepEqual(await list(), ['shenma:templates:_'])
  })

  it('lets any other file of the key win', async t => {
    const { read, list, warnings } = await open(t, { 'templates/a.prompt': 'dotprompt', 'templates/a.yaml': 'userPrompt: yaml' })
    assert.deepEqual([await list(), await read('templates:a')], [['shenma:templates:a'], { kind: 'text', text: '{"userPrompt":"yaml"}' }])
    assert.ok(warnings.some(each => each.includes('two files')))
  })

  it('is not written over: a change is refused, and says where it goes', async t => {
    const { store, read } = await open(t, { 'templates/a.prompt': 'mine' })
    const outcome = await store.write('shenma:templates:a', '{"userPrompt":"theirs"}')
    assert.match(JSON.stringify(outcome), /kept.*a\.prompt is a file of Dotprompt/)
    assert.deepEqual(await read('templates:a'), { kind: 'text', text: '{"syntax":"handlebars","x-dotprompt":{},"userPrompt":"mine"}' })
    assert.equal(await store.remove('shenma:templates:a'), 'removed')
    assert.deepEqual(await read('templates:a'), { kind: 'missing' })
  })

  it('loads nothing of Dotprompt before there is one', () => {
    const program = `
      import { createDirectoryStore } from './src/store/directory-store.ts'
      import { createRequire } from 'node:module'
      import { mkdtempSync, mkdirSync, writeFileSync } from 'node:fs'
      const directory = mkdtempSync('/tmp/ai-prompt-shell-')
      mkdirSync(directory + '/templates')
      writeFileSync(directory + '/templates/a.yaml', 'userPrompt: a')
      const store = await createDirectoryStore({ directory, keys: ${JSON.stringify(KEYS)} })
      const loaded = () => Object.keys(createRequire(import.meta.url).cache).some(file => /handlebars[^/]*\\/(dist|lib)/.test(file))
      await store.read(['shenma:templates:a'])
      const before = loaded()
      writeFileSync(directory + '/templates/b.prompt', '---\\ninput: { schema: { name: string } }\\n---\\nb')
      const [value] = await store.read(['shenma:templates:b'])
      console.log(JSON.stringify([before, value.kind, loaded()]))
      await store.close()`
    const { stdout, stderr } = spawnSync(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', program], { encoding: 'utf8' })
    assert.equal(stdout.trim(), '[false,"text",true]', stderr)
  })
})
