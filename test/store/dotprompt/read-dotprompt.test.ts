import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { handlebarsLanguage } from '../../../src/template/handlebars/handlebars-language.ts'
import { cpuTimeOf } from '../../helpers/cpu-time.ts'
import { renderText } from '../../helpers/render-text.ts'
import { dotpromptToJson, readDotprompt } from '../../../src/store/read-dotprompt.ts'

const HEAD = `---
# of the front matter
name: team/review
model: googleai/gemini-2.5-flash
description: Reviews a file
config:
  temperature: 0.2
  topP: 0.9
  maxOutputTokens: 200
  stopSequences: [END]
  safety: low
input:
  schema:
    file: string, its path
    depth?: integer
    note?: string
  default:
    depth: 2
output:
  format: json
  schema:
    score: integer
tools: [owners.find]
metadata: { team: core }
ext1.flag: true
---
`

function promptIn (text: string) {
  return readDotprompt(text, 'review.prompt').prompt
}

describe('a .prompt file', () => {
  it('says in its head what a prompt has in its fields', () => {
    assert.deepEqual(promptIn(`${HEAD}Review {{file}}.\n`), {
      syntax: 'handlebars',
      description: 'Reviews a file',
      parameters: {
        type: 'object',
        properties: { file: { type: 'string', description: 'its path' }, depth: { type: ['integer', 'null'], default: 2 }, note: { type: ['string', 'null'], default: null } },
        required: ['file'],
        additionalProperties: false
      },
      returns: { type: 'object', properties: { score: { type: 'integer' } }, required: ['score'], additionalProperties: false },
      structured: true,
      defaults: { model: 'googleai/gemini-2.5-flash', temperature: 0.2, top_p: 0.9, max_tokens: 200, stop: ['END'], safety: 'low', toolLoop: { tools: ['owners.find'] } },
      'x-dotprompt': { name: 'team/review', metadata: { team: 'core' }, 'ext1.flag': true },
      userPrompt: 'Review {{file}}.'
    })
  })

  it('without a head is its template, as it is', () => {
    assert.deepEqual(promptIn('Hello {{name}}\n'), { syntax: 'handlebars', 'x-dotprompt': {}, userPrompt: 'Hello {{name}}\n' })
  })

  it('is cut into messages at its roles, on the syntax tree', () => {
    const prompt = promptIn('{{role "system"}}Be {{tone}}.\n{{ history }}\n{{~role "user"~}}\nSee {{media url=picture}} and {{media url="https://a.b/c.png"}}!\n{{role \'model\'}}Yes.')
    assert.deepEqual(prompt['messages'], [
      { role: 'system', content: 'Be {{tone}}.\n' },
      { placeholder: 'history' },
      { role: 'user', content: [{ type: 'text', text: '\nSee ' }, { type: 'image_url', image_url: { url: '{{picture}}' } }, { type: 'text', text: ' and ' }, { type: 'image_url', image_url: { url: 'https://a.b/c.png' } }, { type: 'text', text: '!\n' }] },
      { role: 'assistant', content: 'Yes.' }
    ])
  })

  it('keeps the line ends of tags that stood beside a role', async () => {
    const { messages } = promptIn('{{role "user"}}{{#if a}}\nx\n{{/if}}{{role "model"}}\n{{#if a}}\ny\n{{/if}}\n{{history}}') as unknown as { messages: ReadonlyArray<{ content?: string }> }
    assert.deepEqual(messages.map(({ content }) => content), ['{{!}}{{#if a}}\nx\n{{/if}}{{!}}', '\n{{#if a}}\ny\n{{/if}}\n', undefined])
    const rendered = await Promise.all(messages.flatMap(({ content }) => content === undefined ? [] : [renderText(handlebarsLanguage, content, { a: true })]))
    assert.deepEqual(rendered, ['\nx\n', '\ny\n'])
  })

  it('is not cut at what only looks like a role', () => {
    const text = '{{!-- {{role "system"}} --}}\\{{role "system"}} <<<dotprompt:role:system>>> {{{{raw}}}}{{role "system"}}{{{{/raw}}}}'
    assert.deepEqual(promptIn(text), { syntax: 'handlebars', 'x-dotprompt': {}, userPrompt: text })
  })

  it('has Dotprompt\'s helpers as this service writes them, in their lines', () => {
    const prompt = promptIn('{{#ifEquals a "x"}}\none{{else ifEquals a (lookup b "c")}}two{{else}}\n{{#unlessEquals a 1}}three{{/unlessEquals}}{{/ifEquals}} {{json a indent=2}}')
    assert.equal(prompt['userPrompt'], '{{#if (eq a "x")}}\none{{else if (eq a (lookup b "c"))}}two{{else}}\n{{#unless (eq a 1)}}three{{/unless}}{{/if}} {{json 2 a }}')
  })

  it('means the variables by `this`, outside of loops', () => {
    const prompt = promptIn('{{json this}} {{#if a}}{{this}}{{/if}} {{#each b}}{{this}}{{else}}{{json this}}{{/each}} {{#with c}}{{.}}{{/with}}')
    assert.equal(prompt['userPrompt'], '{{json variables}} {{#if a}}{{variables}}{{/if}} {{#each b}}{{this}}{{else}}{{json variables}}{{/each}} {{#with c}}{{.}}{{/with}}')
  })

  it('tells where each text begins', () => {
    const { starts } = readDotprompt('---\nmodel: m\n---\n\n{{role "system"}}Be kind.\n{{role "user"}}See\n{{media url=url}}now', 'a.prompt')
    assert.deepEqual(starts.map(({ message, part, place }) => [message, part, place.line, place.column]), [[0, undefined, 5, 18], [1, 0, 6, 16], [1, 1, 7, 1], [1, 2, 7, 18]])
  })
})

describe('a hostile .prompt file', () => {
  const rows: ReadonlyArray<readonly [what: string, text: string]> = [
    ['line ends behind dashes that nothing closes', `---${'\n'.repeat(1_000_000)}`],
    ['dashes on every line', `a\n${'---   \n'.repeat(120_000)}`],
    ['dashes with white space', `---\n${' \t'.repeat(250_000)}\n${'\n---x'.repeat(100_000)}`],
    ['comments without end', '#\n'.repeat(500_000)],
    ['tags that close nothing', `{{#ifEquals a b}}${'{{/'.repeat(20_000)}`],
    ['comparisons by the hundred', '{{#ifEquals a b}}x{{/ifEquals   }}'.repeat(900)],
    ['roles by the thousand', '{{role "user"}}x'.repeat(2001)]
  ]
  for (const [what, text] of rows) {
    it(`of ${what} is done with at once`, () => {
      assert.ok(cpuTimeOf(() => dotpromptToJson(text, 'a.prompt')) < 2000)
    })
  }
})

describe('a .prompt file that is no prompt here', () => {
  const rows: ReadonlyArray<readonly [what: string, text: string, reason: RegExp, place: readonly [line: number, column: number], code?: string]> = [
    ['a role inside a block', '---\nmodel: m\n---\n{{#if x}}\n{{role "system"}}a{{/if}}', /\{\{role\}\} inside a block, where no message can begin/, [5, 1], 'ROLE_NESTED'],
    ['a history inside a block', '{{#each x}}{{history}}{{/each}}', /\{\{history\}\} inside a block/, [1, 12], 'ROLE_NESTED'],
    ['a picture inside a block', '{{#if url}}{{media url=url}}{{/if}}', /\{\{media\}\} inside a block, where no part of a message/, [1, 12], 'ROLE_NESTED'],
    ['a role in an expression', '{{#if (role "user")}}a{{/if}}', /inside a block/, [1, 7], 'ROLE_NESTED'],
    ['a role that is a variable', 'a {{role who}}b', /a \{\{role\}\} that is none/, [1, 3]],
    ['a role of nobody', '{{role "root"}}b', /a \{\{role\}\} that is none/, [1, 1]],
    ['a second history', 'a{{history}}b\n{{history}}', /twice/, [2, 1]],
    ['a picture without a URL', '{{media contentType="image/png"}}', /without a url/, [1, 1]],
    ['a film', '{{media url=x contentType="video/mp4"}}', /type video\/mp4/, [1, 1]],
    ['a section', 'a\n{{section "b"}}', /\{\{section\}\}/, [2, 1]],
    ['state', 'Count {{@state.count}}', /reads @state/, [1, 9]],
    ['who asks', '{{#if @auth.email}}a{{/if}}', /reads @auth/, [1, 7]],
    ['a variant', '---\nvariant: short\n---\na', /variant/, [2, 1]],
    ['no template', '---\nmodel: m\n---\n', /no template/, [4, 1]],
    ['a template that is none', '---\nmodel: m\n---\nok\n{{#if}', /is no template/, [5, 6]],
    ['a head that is none', '---\nmodel: [m\n---\na', /is not usable YAML/, [2, 10]],
    ['a head that is a list', '---\n- a\n---\na', /no map of fields/, [2, 1]],
    ['a bomb of aliases', `---\n${'a: &a [x, x]\n'}${Array.from({ length: 101 }, (_, index) => `b${index}: *a`).join('\n')}\n---\na`, /aliases/, [103, 7]],
    ['a schema of nobody', '---\noutput: { schema: Foo }\n---\na', /no Picoschema.*Foo/, [2, 1]],
    ['an input that is a text', '---\ninput: { schema: string }\n---\na', /not of an object/, [2, 1]],
    ['tools that are no names', '---\ntools: [{ name: a }]\n---\na', /tools that are no list of names/, [2, 1]]
  ]
  for (const [what, text, reason, [line, column], code] of rows) {
    it(`for ${what} is told why, and where`, () => {
      const value = dotpromptToJson(text, 'a.prompt')
      assert.equal(value.kind, 'bad')
      assert.match(value.reason, reason)
      assert.deepEqual([value.place, value.code], [{ line, column }, code])
    })
  }

  it('for a variant in its name is told so', () => {
    assert.match(JSON.stringify(dotpromptToJson('a', 'greet.short.prompt')), /variant.*label/)
  })
})
