import assert from 'node:assert/strict'
import { describe, type TestContext } from 'node:test'
import { Writable } from 'node:stream'
import fc from 'fast-check'
import { stringify } from 'yaml'
import { ApiClient } from '../../src/cli/api-client.ts'
import { type Cli } from '../../src/cli/context.ts'
import { pathOf } from '../../src/cli/entries.ts'
import { compareFolder, listRemote } from '../../src/cli/folder.ts'
import { pullFolder, pushFolder } from '../../src/cli/sync.ts'
import { Output } from '../../src/cli/output.ts'
import { property } from '../helpers/property.ts'
import { startService } from '../helpers/service.ts'
import { createTemporaryFolder } from '../helpers/temporary-folder.ts'

/** A file of a folder that somebody might keep. */
interface File { readonly path: string, readonly text: string }

const segment = fc.stringMatching(/^[a-zäя][a-z0-9_-]{0,6}$/u)
const id = fc.array(segment, { minLength: 1, maxLength: 3 }).map(segments => segments.join('/'))

/** Texts without tags, with whatever YAML or JSON may trip over. */
const words = fc.oneof(
  fc.string({ unit: 'binary', minLength: 1, maxLength: 30 }),
  fc.constantFrom('yes', '1e3', '0x1f', '~', ' leading', 'trailing ', '- a', 'a: b', '# no comment', 'line\nline\n', '\ttab', '\r\n', 'null', '😀', '%TAG', '"quoted"', '|', '2026-11-20', '\u2028', '\ufeff')
).map(text => text.toWellFormed().replaceAll('{', '('))
/** No template holds a NUL. */
const text = words.map(each => each.replaceAll('\0', '')).filter(each => /\S/.test(each)).map(each => `Say ${each}`)
const description = fc.option(words, { nil: undefined })

const json = fc.jsonValue({ maxDepth: 2, noUnicodeString: false }).map(value => JSON.parse(JSON.stringify(value), (_key, each: unknown) => typeof each === 'string' ? each.toWellFormed() : each) as unknown)

const prompt = fc.oneof(
  text,
  fc.record({ userPrompt: text, description }, { requiredKeys: ['userPrompt'] }),
  fc.record({ messages: fc.array(fc.record({ role: fc.constantFrom('system', 'user', 'assistant'), content: text }), { minLength: 1, maxLength: 3 }), parameters: fc.constant([{ name: 'x', type: 'string', default: '' }]) }, { requiredKeys: ['messages'] }),
  text.map(each => ({ userPrompt: `${each} {{variables.x}}` }))
)
const tool = fc.record({ url: fc.constant('http://127.0.0.1:9/x'), method: fc.constantFrom('GET', 'POST'), description: words, default: json })
const agent = fc.record({ mode: fc.constant('tools'), system: text, tools: fc.constant([]), description: words }, { requiredKeys: ['mode', 'system', 'tools'] })
const plan = fc.record({ description: words, prompt: text, confirm: fc.constantFrom('diff', 'none') }, { requiredKeys: ['description'] })
const tests = fc.array(fc.record({ description: text, vars: fc.dictionary(segment, json, { maxKeys: 2 }), assert: fc.constantFrom([], [{ type: 'contains', value: 'x' }], [{ type: 'not-is-json' }]) }, { requiredKeys: [] }), { maxLength: 3 })
const extension = (name: string) => fc.array(segment, { minLength: 1, maxLength: 2 }).map(names => ({ name, contributes: { prompts: [...new Set(names)].map(each => ({ name: each, userPrompt: `Say ${each}` })) } }))
const skill = (name: string) => fc.record({ description: fc.stringMatching(/^[a-z]{1,20}$/), body: text }).map(({ description: about, body }) => `---\nname: ${name}\ndescription: ${about}\n---\n${body}\n`)

/** The same value in one of the forms that a file may have. */
const written = (folder: string, path: string, value: unknown): fc.Arbitrary<File> => fc.constantFrom(
  { path: `${folder}/${path}.json`, text: JSON.stringify(value, null, 1) },
  { path: `${folder}/${path}.yaml`, text: stringify(value, { lineWidth: 0 }) },
  { path: `${folder}/${path}.yml`, text: `# kept\n${JSON.stringify(value)}\n` }
)

const file: fc.Arbitrary<File> = fc.oneof(
  { weight: 4, arbitrary: fc.tuple(id, prompt).chain(([path, value]) => written('templates', path, value)) },
  { weight: 3, arbitrary: fc.tuple(id, json).chain(([path, value]) => written('environs', path, value)) },
  fc.tuple(id, tool).chain(([path, value]) => written('tools', path, value)),
  fc.tuple(id, agent).chain(([path, value]) => written('agents', path, value)),
  fc.tuple(id, plan).chain(([path, value]) => written('plans', path, value)),
  fc.tuple(id, tests).chain(([path, value]) => written('tests', path, value)),
  segment.chain(name => extension(name).chain(value => written('extensions', name, value))),
  fc.stringMatching(/^[a-z]{1,8}$/).chain(name => skill(name).map(body => ({ path: `skills/${name}/SKILL.md`, text: body })))
)

/** Files whose keys are all different, and none of which lies below another: what is below a value hides it. */
const folder = fc.array(file, { maxLength: 16, size: 'max' }).map(files => {
  const kept: File[] = []
  const keyOf = ({ path }: File) => path.replace(/\/SKILL\.md$|\.\w+$/, '').replaceAll(/[.-]/g, '_')
  for (const each of files) if (kept.every(other => !`${keyOf(other)}/`.startsWith(`${keyOf(each)}/`) && !`${keyOf(each)}/`.startsWith(`${keyOf(other)}/`))) kept.push(each)
  return kept
})

const silent = () => Object.assign(new Writable({ write (_chunk, _encoding, done) { done() } }), { isTTY: false })

/** A service that forgets what a folder has brought. */
async function open (t: TestContext) {
  const service = await startService(t, {}, { LOG_LEVEL: 'silent' })
  const api = new ApiClient({ url: await service.listen(), token: '', signal: new AbortController().signal })
  const opened = { api, output: new Output(silent(), silent()) }
  return {
    differences: async (path: string) => (await compareFolder(path, api.url, opened, 'pull')).differences.map(({ name }) => name),
    push: (path: string) => pushFolder(path, { yes: true }, opened, {} as Cli),
    pull: (path: string) => pullFolder(path, { yes: true }, opened, {} as Cli),
    async clear () { for (const { kind, id: each } of [...(await listRemote(api)).values()].reverse()) await api.delete(pathOf(kind, each)) }
  }
}

describe('A folder of whatever may be kept in one', () => {
  property('differs in nothing once it was pushed, and neither does one that is pulled', 500, async ({ comesToHold, wasOfUse }, t) => {
    const { differences, push, pull, clear } = await open(t)
    let count = 0
    await comesToHold(fc.asyncProperty(folder, async files => {
      const [here, there] = [await createTemporaryFolder(), await createTemporaryFolder()]
      try {
        for (const { path, text: content } of files) await here.write(path, content)
        await push(here.path)
        assert.deepEqual(await differences(here.path), [])
        await pull(there.path)
        assert.deepEqual(await differences(there.path), [])
        if (files.length > 2) count++
      } finally {
        await clear()
        await Promise.all([here.remove(), there.remove()])
      }
    }))
    wasOfUse(count, 0.3)
  })
})
