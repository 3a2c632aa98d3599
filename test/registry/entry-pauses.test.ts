import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type EntryParser } from '../../src/registry/entries/entry-table.ts'
import { extensionParser } from '../../src/registry/kinds/extension-kind.ts'
import { uncachedTemplates } from '../../src/registry/entries/template-cache.ts'
import { templateParser } from '../../src/registry/kinds/prompt-kind.ts'
import { goLanguage } from '../../src/template/go/go-language.ts'
import { handlebarsLanguage } from '../../src/template/handlebars/handlebars-language.ts'

const cache = uncachedTemplates([handlebarsLanguage, goLanguage])
const userPrompt = '{{variables.a}}'.repeat(20)
const many = Array.from({ length: 50 }, (_, index) => index)

/** How many pauses an entry's parser makes when each is due. */
async function pausesOf<T> (parser: EntryParser<T>, value: unknown): Promise<number> {
  let pauses = 0
  await parser.parse('e', JSON.stringify(value), { isDue: () => true, pause: async () => { pauses++ } })
  return pauses
}

describe('An entry that holds very much', () => {
  it('is parsed with a pause after each prompt of an extension', async () => {
    const prompts = many.map(index => ({ name: `p${index}`, userPrompt }))
    assert.ok(await pausesOf(extensionParser('', cache, []), { name: 'e', contributes: { prompts } }) >= 50)
  })

  it('is parsed with a pause after each message, for each step', async () => {
    const messages = many.map(() => ({ role: 'user', content: userPrompt }))
    const steps = ['measured', 'scanned for signs', 'tried as Handlebars', 'compiled']
    assert.ok(await pausesOf(templateParser('', cache), { messages }) >= 50 * steps.length)
  })
})
