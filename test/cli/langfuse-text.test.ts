import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type LangfuseReference, readLangfuse, templateFrom } from '../../src/cli/langfuse-prompts.ts'
import { handlebarsLanguage } from '../../src/template/handlebars/handlebars-language.ts'
import { renderText } from '../helpers/render-text.ts'

const VARIABLES = {
  x: 1, a: { b: 2, 1: 9 }, _c: 3, réponse: 4, 'user-name': 5, '1st': 6, this: 7, true: 8, '@x': 10, '"q"': 11, 'a]b': 12, 'd..e': 14, variables: 15, 名前: 16, имя_1: 17
}

const rows: ReadonlyArray<readonly [text: string, rendered: string]> = [
  ['{{x}} {{ x }}{{x}}', '1 11'],
  ['{{#if x}}{{/if}} {{> a}} {{x y}} {{}} {{', '{{#if x}}{{/if}} {{> a}} {{x y}} {{}} {{'],
  ['{{{x}}} {x} }}', '{{{x}}} {x} }}'],
  ['\\{{x}} \\\\{{x}} \\\\\\{{x}}', '\\1 \\\\1 \\\\\\1'],
  ['\\{{#x}} \\\\{{ y', '\\{{#x}} \\\\{{ y'],
  ['{{a.b}} {{_c}}', '2 3'],
  ['{{réponse}} {{user-name}} {{1st}} {{this}} {{true}} {{a.1}} {{@x}} {{"q"}} {{a]b}} {{d..e}} {{variables}}', '4 5 6 7 8 9 10 11 12 14 15'],
  ['{{名前}} {{имя_1}} {{x y}} {{c\\d}} {{ x\n}}', '16 17 {{x y}} {{c\\d}} 1']
]

describe('A text of Langfuse', () => {
  for (const [text, rendered] of rows) {
    it(`${text} is a template that gives ${rendered}`, async () => {
      assert.equal(await renderText(handlebarsLanguage, templateFrom(text, ({ name }) => name), VARIABLES), rendered)
    })
  }

  it('refers to other prompts by partials of a label or a version, which keep the lines that they stand on', () => {
    const refer = ({ name, release }: LangfuseReference) => `${name.replaceAll('/', '.')}@${release}`
    assert.equal(templateFrom('@@@langfusePrompt:name=a/b|label=production@@@ @@@langfusePrompt:name=c|version=2@@@', refer), '{{> "a.b@production"}} {{> "c@2"}}')
    assert.equal(templateFrom('x\n  @@@langfusePrompt:name=a|version=1@@@\ny@@@langfusePrompt:a@@@', refer), 'x\n  {{> "a@1"}}{{!}}\ny@@@langfusePrompt:a@@@')
  })
})

describe('An export of Langfuse', () => {
  it('tells what of it is other here', () => {
    const read = readLangfuse([
      { name: 'a', version: 1, prompt: 'x {{#if y}}', labels: ['Prod', 'latest', 'eu.1'], config: { model: 'm', mine: 1 }, commitMessage: 'm'.repeat(1001) },
      { name: 'b', version: 1, prompt: [{ type: 'placeholder', name: 'history' }, { type: 'placeholder', name: 'more' }, { role: 'human', content: 'x' }] },
      { name: 'c', version: 1, prompt: '@@@langfusePrompt:name=a|label=Prod@@@ @@@langfusePrompt:name=a|version=7@@@ @@@langfusePrompt:name=d|label=production@@@' }
    ])
    assert.deepEqual([read.problems, read.remarks], [[], [
      'a version 1: the label "Prod" is left out: labels here are lower-case letters, digits, - and _',
      'a version 1: the label "eu.1" is left out: labels here are lower-case letters, digits, - and _',
      'a version 1: config.mine is kept under x-langfuse',
      'a version 1: {{#if y}} is text, as no variable has such a name',
      'a version 1: the commit message is cut to 1000 characters',
      'b version 1: the placeholder "more" is left out: a prompt has one here',
      'b version 1: the role "human" is user here',
      'c version 1: refers to a, label "Prod", and to version 1 here, as there is no such label',
      'c version 1: refers to a, version 7, which the export does not have',
      'c version 1: refers to d, label "production", which the export does not have'
    ]])
    assert.deepEqual(read.prompts.map(({ id, versions }) => [id, versions.map(({ entry }) => entry)]), [
      ['a', [{ syntax: 'handlebars', userPrompt: 'x \\{{#if y}}', defaults: { model: 'm' }, 'x-langfuse': { config: { mine: 1 } } }]],
      ['b', [{ syntax: 'handlebars', messages: [{ placeholder: 'history' }, { role: 'user', content: 'x' }] }]],
      ['c', [{ syntax: 'handlebars', userPrompt: '{{> "a@1"}} {{> "a@7"}} {{> "d@production"}}' }]]
    ])
  })

  it('keeps calls and parts of messages, whose texts are templates', () => {
    const calls = [{ id: 'c1', type: 'function', function: { name: 'f', arguments: '{"a":{}}' } }]
    const { prompts: [prompt], problems } = readLangfuse([{
      name: 'a',
      version: 1,
      prompt: [
        { type: 'chatmessage', role: 'user', content: [{ type: 'text', text: 'See {{x}}, {{#y}}' }, { type: 'image_url', image_url: { url: '{{url}}' } }] },
        { role: 'assistant', content: null, tool_calls: calls },
        { role: 'tool', tool_call_id: 'c1', content: '{{result}}' }
      ]
    }])
    assert.deepEqual([problems, prompt?.versions[0]?.entry['messages']], [[], [
      { role: 'user', content: [{ type: 'text', text: 'See {{variables.x}}, \\{{#y}}' }, { type: 'image_url', image_url: { url: '{{variables.url}}' } }] },
      { role: 'assistant', content: '', tool_calls: calls },
      { role: 'tool', content: '{{variables.result}}', tool_call_id: 'c1' }
    ]])
  })

  it('tells why it cannot be imported as it is', () => {
    const labels = Array.from({ length: 21 }, (_, index) => `l${index}`)
    const { problems } = readLangfuse([
      { name: 'a', version: 1, prompt: 'x' },
      { name: 'a', version: 1, prompt: 'x' },
      { name: 'a', version: 1, prompt: 'again' },
      { name: '', version: 2, prompt: 'x' },
      { name: 'team/x', version: 1, prompt: 'x' },
      { name: 'team.x', version: 1, prompt: 'x' },
      { name: 'x', version: 1, prompt: 'x', labels },
      { name: 'team/y', version: 1, prompt: '@@@langfusePrompt:name=x|version=1@@@' },
      { name: 'c', version: 1, prompt: [] },
      { name: 'd', version: 1, prompt: [{ role: 'user', content: [{ type: 'video', url: 'x' }] }] },
      { name: 'e@f', version: 1, prompt: 'x' }
    ])
    assert.deepEqual(problems, [
      'a version 1: is there twice, and the two differ',
      '(no name) version 2: expected a name, and a version that is a number from 1 on',
      'team.x version 1: its id would be team.x, as that of team/x; give one of them another name',
      'x: has 21 labels; at most 20 are allowed',
      'team/y version 1: refers to x, and team/x would be read in its place, as it stands in the same folder; give one of them another name',
      'c version 1: messages must not be empty',
      'd version 1: messages.0.content.0.type must be one of text, image_url, input_audio, file, not "video"',
      'e@f version 1: the id "e@f" has an "@", behind which a label or a version of a prompt is named'
    ])
  })
})
