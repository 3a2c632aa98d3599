import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, after, describe, it } from 'node:test'
import { pino } from 'pino'
import { parse } from 'yaml'
import { createApp } from '../../../src/app.ts'
import { type Json, type JsonObject } from '../../../src/base/json.ts'
import { loadConfig } from '../../../src/config/config.ts'
import { type App } from '../../../src/http/app.ts'
import { readDotprompt } from '../../../src/store/read-dotprompt.ts'
import { storeWith } from '../../helpers/registered.ts'
import { DIFFERENCES } from './spec-differences.ts'

const FOLDER = 'test/fixtures/dotprompt'

interface SpecMessage { readonly role: string, readonly content: ReadonlyArray<{ readonly text?: string }> }

interface SpecData { readonly input?: JsonObject, readonly messages?: readonly SpecMessage[], readonly context?: JsonObject }

/** A suite, as far as it is read here. */
interface SpecSuite {
  readonly name: string
  readonly template: string
  readonly data?: SpecData
  readonly partials?: Readonly<Record<string, string>>
  readonly resolverPartials?: Readonly<Record<string, string>>
  readonly tests: ReadonlyArray<{ readonly desc: string, readonly data?: SpecData, readonly options?: { readonly input?: { readonly default?: JsonObject } }, readonly expect: SpecExpected }>
}

interface SpecExpected {
  readonly messages: readonly SpecMessage[]
  readonly model?: string
  readonly config?: JsonObject
  readonly raw?: JsonObject
  readonly output?: { readonly schema?: Json }
}

const suites = readdirSync(FOLDER, { recursive: true }).map(String).filter(file => file.endsWith('.yaml')).sort()
  .flatMap(file => (parse(readFileSync(join(FOLDER, file), 'utf8')) as SpecSuite[]).map((suite, index) => ({ suite, key: `${file.slice(0, -'.yaml'.length)}/${suite.name}`, module: `${file.replaceAll(/\W/g, '_')}_${index}` })))

/** The prompt of a suite; of a template without a text, one with a text. */
function promptOf ({ template }: SpecSuite): JsonObject {
  const { prompt } = readDotprompt(/^---[\s\S]*\n---\s*$/.test(template) ? `${template}-` : template, 'case.prompt')
  return prompt
}

function registrations (): Readonly<Record<string, unknown>> {
  const found: Record<string, unknown> = {}
  for (const { suite, module } of suites) {
    for (const [name, text] of Object.entries({ ...suite.partials, ...suite.resolverPartials })) found[`templates:${module}:${name}`] = readDotprompt(text, `_${name}.prompt`).prompt
    const prompt = orNothing(() => promptOf(suite))
    if (prompt === undefined) continue
    for (const [index, { options }] of suite.tests.entries()) {
      const defaults = Object.entries(options?.input?.default ?? {}).map(([name, value]) => [name, { default: value }])
      found[`templates:${module}:case${index}`] = defaults.length === 0 ? prompt : { ...prompt, parameters: Object.fromEntries(defaults) as JsonObject }
    }
  }
  return found
}

/** What is refused has its reason among the differences. */
function orNothing<T> (read: () => T): T | undefined {
  try {
    return read()
  } catch {
    return undefined
  }
}

function ours ({ role, content }: SpecMessage): JsonObject {
  return { role: role === 'model' ? 'assistant' : role, content: content.map(({ text }) => text ?? '').join('') }
}

describe('Dotprompt\'s specification', () => {
  let app: App
  before(async () => { app = await createApp(loadConfig({ STORE_DIR: 'unused', SESSION_STORE: 'memory', ALLOW_ROOT: 'true' }), pino({ enabled: false }), { store: storeWith(registrations()) }) })
  after(() => app.close())

  async function check ({ suite, module }: typeof suites[number], index: number): Promise<void> {
    const { data, expect } = suite.tests[index] as SpecSuite['tests'][number]
    const prompt = promptOf(suite)
    if (expect.messages.length > 0) {
      const { input, messages = [] } = { ...suite.data, ...data }
      const reply = await app.inject({ method: 'POST', url: `/api/render/prompts/${module}.case${index}`, payload: { variables: input ?? {}, messages: messages.map(ours) } })
      const { rendered_prompt: rendered } = reply.json<{ rendered_prompt: Json }>()
      assert.deepEqual(typeof rendered === 'string' ? [{ role: 'user', content: rendered }] : rendered, expect.messages.map(ours), reply.body)
    }
    if (expect.output?.schema !== undefined) assert.deepEqual(prompt['returns'], expect.output.schema)
    const { model, ...settings } = (prompt['defaults'] ?? {}) as JsonObject
    assert.equal(model, expect.model)
    assert.deepEqual(settings, expect.config ?? {})
    for (const [name, value] of Object.entries(expect.raw ?? {})) if (name !== 'config') assert.deepEqual((prompt['x-dotprompt'] as JsonObject)[name], value)
  }

  for (const each of suites) {
    const reason = DIFFERENCES.get(each.key)
    for (const [index, { desc }] of each.suite.tests.entries()) {
      if (reason === undefined) it(`${each.key}: ${desc}`, () => check(each, index))
      else it(`${each.key}: ${desc}; not here, since ${reason}`, async () => { await assert.rejects(check(each, index)) })
    }
  }

  it('has every suite that differs', () => {
    assert.deepEqual([...DIFFERENCES.keys()].filter(key => !suites.some(each => each.key === key)), [])
  })
})
