import assert from 'node:assert/strict'
import { describe } from 'node:test'
import fc from 'fast-check'
import { RejectedEntry } from '../../../src/registry/diagnostic.ts'
import { parsePromptDefinition, type PromptDefinition } from '../../../src/registry/kinds/prompt-definition.ts'
import { type Dotprompt, readDotprompt } from '../../../src/store/read-dotprompt.ts'
import { DotpromptError } from '../../../src/store/dotprompt-head.ts'
import { handlebarsLanguage } from '../../../src/template/handlebars/handlebars-language.ts'
import { property } from '../../helpers/property.ts'

const PIECES = [
  '{{role "system"}}', '{{role "user"}}', "{{~role 'model'~}}", '{{role x}}', '{{history}}', '{{media url=a}}', '{{media url=(lookup a "b")}}', '{{media}}',
  '{{#if a}}', '{{#if a}}x{{/if}}', '{{/if}}', '{{else}}', '{{#ifEquals a b}}x{{else}}y{{/ifEquals}}', '{{#ifEquals a 1}}', '{{else ifEquals a 2}}', '{{~/ifEquals ~}}',
  '{{#unlessEquals this 1}}z{{/unlessEquals}}', '{{json this indent=2}}', '{{json a}}', '{{this}}', '{{#each b}}{{this}}{{/each}}', '{{@index}}', '{{@state.x}}', '{{> p a=this}}',
  '{{{a}}}', '{{~a~}}', '\\{{a}}', '\\\\{{a}}', '{{!-- {{role "user"}} --}}', '{{{{raw}}}}{{role "user"}}{{{{/raw}}}}', 'text', ' ', '\n', '\r\n', '😀', '{{', '}}'
]

const file = fc.tuple(fc.constantFrom('', '', '---\nmodel: m\n---\n', '# licence\n\n---\ninput: { schema: { a?: string } }\n---\n\n'), fc.array(fc.constantFrom(...PIECES), { minLength: 1, maxLength: 9 }))
  .map(([head, pieces]) => head + pieces.join(''))

function readIn (text: string): Dotprompt | DotpromptError {
  try {
    return readDotprompt(text, 'a.prompt')
  } catch (error) {
    if (error instanceof DotpromptError) return error
    throw error
  }
}

function definitionOf ({ prompt }: Dotprompt): PromptDefinition | undefined {
  try {
    return parsePromptDefinition(prompt)
  } catch (error) {
    if (error instanceof RejectedEntry) return undefined
    throw error
  }
}

describe('a .prompt file', () => {
  property('is a prompt whose texts are templates, or is told why not, at a place in it', 5000, given => {
    let taken = 0
    given.holds(fc.property(file, text => {
      const lines = text.split('\n')
      const isIn = ({ line, column }: { line: number, column: number }) => line >= 1 && line <= lines.length && column >= 1 && column <= (lines[line - 1]?.length ?? 0) + 1
      const read = readIn(text)
      if (read instanceof DotpromptError) return assert.ok(isIn(read.place), JSON.stringify(read.place))
      const definition = definitionOf(read)
      for (const { text: template } of definition?.texts ?? []) handlebarsLanguage.compile({ text: template })
      for (const { place } of read.starts) assert.ok(isIn(place), JSON.stringify(place))
      if (definition !== undefined) taken++
    }))
    given.wasOfUse(taken, 0.1)
  })
})
