import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import Handlebars from 'handlebars'
import { pino } from 'pino'
import { createApp } from '../../src/app.ts'
import { loadConfig } from '../../src/config/config.ts'
import { type App } from '../../src/http/app.ts'
import { type Json, parseJson } from '../../src/base/json.ts'
import { type Syntax } from '../../src/template/language.ts'
import { examplesFor, freeExamplePorts, startExampleTools } from '../helpers/example-tool-server.ts'
import { waitFor } from '../helpers/wait-for.ts'
import { GO_DIFFERENCES } from '../template/go/differences.ts'
import { type Vector } from '../template/go/judge.ts'
import { DIFFERENCES } from '../template/handlebars/differences.ts'
import { differencesIn, examplesIn, type Difference } from './template-page.ts'

// The page's examples as a reader tries them: over the examples' registrations, with their tool server.

const page = readFileSync('docs/templates.md', 'utf8')
const examples = examplesIn(page)
const goVectors = readFileSync('test/vectors/go-page.jsonl', 'utf8').split('\n').filter(line => line !== '').map(line => parseJson(line) as unknown as Vector)
const differences: Record<Syntax, readonly Difference[]> = { go: differencesIn(page, 'go'), handlebars: differencesIn(page, 'handlebars') }

describe('docs/templates.md', () => {
  const closing: Array<() => unknown> = []
  let app: App

  before(async () => {
    const ports = await freeExamplePorts()
    const atEnd = { after: (close?: unknown) => { if (typeof close === 'function') closing.unshift(close as () => unknown) } }
    await startExampleTools(atEnd, ports)
    const folder = await examplesFor(atEnd, ports)
    publish(folder)
    app = await createApp(loadConfig({ STORE_DIR: folder, RENDER_TIMEOUT_MS: '20000' }), pino({ level: 'silent' }))
    closing.unshift(() => app.close())
    await waitFor('the tools to be prepared', async () => {
      const states = await Promise.all(['codebase.lookup_ref', 'owners.find', 'mcp.project.outline'].map(async id => (await app.inject(`/api/tools/${id}`)).json<{ preparation: string }>().preparation))
      return states.every(state => state === 'ready')
    }, 30_000)
  })

  after(async () => { for (const close of closing) await close() })

  it('shows every example in both languages', () => {
    assert.ok(examples.length >= 25)
    const count = (syntax: Syntax) => examples.filter(example => example.syntax === syntax).length
    assert.equal(count('go'), count('handlebars'))
  })

  for (const [index, { heading, syntax, variables, output }] of examples.entries()) {
    it(`gives the output of "${heading}" in ${syntax} (example ${index + 1})`, async () => {
      assert.equal(await render(`page.example_${index}`, variables), output)
    })
  }

  it('lists every difference from the handlebars package that the tests know', () => {
    const said = DIFFERENCES.map(({ about }) => /^.*?(?=[.;,:]| where | inside | called | also | rather )/.exec(about)?.[0] ?? about)
    assert.deepEqual(said.filter(says => !page.includes(`\n- ${says}`)), [])
  })

  it('shows differences of both languages', () => assert.deepEqual([differences.go.length, differences.handlebars.length], [6, 4]))

  it('says every class of differences from Go that the vectors know', () => {
    assert.deepEqual(GO_DIFFERENCES.filter(({ says }) => !page.includes(`\n- ${says}`)), [])
  })

  for (const syntax of ['go', 'handlebars'] as const) {
    for (const [index, { what, template, variables, theirs, ours }] of differences[syntax].entries()) {
      it(`differs from ${syntax === 'go' ? 'Go' : 'the handlebars package'} as it says: ${what}`, async () => {
        const expected = syntax === 'go' ? renderAsGo(template, variables) : renderWithPackage(template, variables)
        assert.equal(expected, theirs)
        const got = await render(`page.${syntax}_${index}`, variables)
        assert.equal(/^\d/.test(ours) && got.startsWith(ours) ? ours : got, ours)
      })
    }
  }

  function publish (folder: string): void {
    const write = (name: string, prompt: object) => { writeFileSync(join(folder, 'templates', 'page', `${name}.json`), JSON.stringify(prompt)) }
    mkdirSync(join(folder, 'templates', 'page'))
    for (const [index, { syntax, template }] of examples.entries()) write(`example_${index}`, { syntax, userPrompt: template })
    for (const syntax of ['go', 'handlebars'] as const) {
      for (const [index, { template }] of differences[syntax].entries()) write(`${syntax}_${index}`, { syntax, userPrompt: template })
    }
  }

  /** What a reader sees: the prompt, or the error in one line. */
  async function render (id: string, variables: string): Promise<string> {
    const reply = await app.inject({ method: 'POST', url: `/api/render/prompts/${id}`, headers: { 'content-type': 'application/json' }, payload: `{"variables":${variables}}` })
    const { rendered_prompt: rendered, code, message } = reply.json<{ rendered_prompt?: string, code: string, message: string }>()
    return rendered ?? `${reply.statusCode} ${code}: ${message.replaceAll(id, 'try')}`
  }
})

/** What Go's own text/template gave over what its encoding/json reads: `go run ./test/template/go/oracle` answers the lines of that file. */
function renderAsGo (template: string, variables: string): string {
  const data = { variables: parseJson(variables) } as Json
  const recorded = goVectors.find(vector => vector.template === template && isDeepStrictEqual(vector.data, data))
  assert.ok(recorded, 'Go has not been asked: add the case to test/vectors/go-page.jsonl')
  return recorded.want ?? 'error'
}

function renderWithPackage (template: string, variables: string): string {
  const data = JSON.parse(variables) as object
  try {
    return Handlebars.compile(template)({ ...data })
  } catch {
    return 'error'
  }
}
