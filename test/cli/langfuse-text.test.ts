import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { readLangfuse } from '../../src/cli/formats/langfuse/langfuse-prompts.ts'
import { templateFrom } from '../../src/cli/formats/langfuse/langfuse-text.ts'
import { handlebarsLanguage } from '../../src/template/handlebars/handlebars-language.ts'
import { renderText } from '../helpers/render-text.ts'

const rows: ReadonlyArray<readonly [text: string, rendered: string]> = [
  ['{{x}} {{ x }}{{x}}', '1 11'],
  ['{{#if x}}{{/if}} {{> a}} {{x y}} {{}} {{', '{{#if x}}{{/if}} {{> a}} {{x y}} {{}} {{'],
  ['{{{x}}} {x} }}', '{{{x}}} {x} }}'],
  ['\\{{x}} \\\\{{x}} \\\\\\{{x}}', '\\1 \\\\1 \\\\\\1'],
  ['\\{{#x}} \\\\{{ y', '\\{{#x}} \\\\{{ y'],
  ['{{a.b}} {{_c}}', '2 3']
]

describe('A text of Langfuse', () => {
  for (const [text, rendered] of rows) {
    it(`${text} is a template that gives ${rendered}`, async () => {
      assert.equal(await renderText(handlebarsLanguage, templateFrom(text, name => name), { x: 1, a: { b: 2 }, _c: 3 }), rendered)
    })
  }

  it('refers to other prompts by partials of a label or a version', () => {
    assert.equal(templateFrom('@@@langfusePrompt:name=a/b|label=production@@@ @@@langfusePrompt:name=c|version=2@@@', name => name.replaceAll('/', '.')), '{{> "a.b@production"}} {{> "c@2"}}')
  })
})

describe('An export of Langfuse', () => {
  it('tells what of it has no place', () => {
    const read = readLangfuse([
      { name: 'a', version: 1, prompt: 'x', labels: ['Prod', 'latest', 'eu.1'], config: { model: 'm', mine: 1 } },
      { name: 'a', version: 1, prompt: 'again' },
      { name: '', version: 2, prompt: 'x' },
      { name: 'b', version: 1, prompt: [{ type: 'placeholder', name: 'history' }, { type: 'placeholder', name: 'more' }, { role: 'human', content: 'x' }] },
      { name: 'c', version: 1, prompt: [] }
    ])
    assert.deepEqual(read?.remarks, [
      'a version 1: config.mine is kept under x-langfuse',
      'a version 1: the label "Prod" is left out: labels here are lower-case letters, digits, - and _',
      'a version 1: the label "eu.1" is left out: labels here are lower-case letters, digits, - and _',
      'a version 1: left out: a has that version already',
      '(no name) version 2: left out: it has no name, no version or no prompt',
      'b version 1: the placeholder "more" is left out: a prompt has one here',
      'b version 1: the role "human" is user here',
      'c version 1: left out: it has no name, no version or no prompt'
    ])
    assert.deepEqual(read.prompts.map(({ id, versions }) => [id, versions.map(({ entry }) => entry)]), [
      ['a', [{ syntax: 'handlebars', userPrompt: 'x', defaults: { model: 'm' }, 'x-langfuse': { config: { mine: 1 } } }]],
      ['b', [{ syntax: 'handlebars', messages: [{ placeholder: 'history' }, { role: 'user', content: 'x' }] }]]
    ])
  })
})
