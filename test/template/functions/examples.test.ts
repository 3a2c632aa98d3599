import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { documentFunctions } from '../../../scripts/document-functions.ts'
import { FORMS } from '../../../src/template/function-forms.ts'
import { FUNCTIONS } from '../../../src/template/functions.ts'
import { goLanguage } from '../../../src/template/go/go-language.ts'
import { handlebarsLanguage } from '../../../src/template/handlebars/handlebars-language.ts'
import { type JsonObject } from '../../../src/base/json.ts'
import { renderText } from '../../helpers/render-text.ts'

const documented = [...FUNCTIONS.values(), ...FORMS]

describe('the functions of the templates', () => {
  for (const language of [goLanguage, handlebarsLanguage]) {
    for (const { name, example } of documented) {
      it(`${name} gives what its example says in ${language.syntax}`, async () => {
        assert.equal(await renderText(language, example[language.syntax], example.variables as JsonObject), example.output)
      })
    }
  }

  it('are each documented once', () => {
    const names = Array.from(documentFunctions().matchAll(/^- `(\w+) /gm), ([, name]) => name)
    assert.deepEqual(names, [...new Set(documented.map(({ name }) => name))])
  })

  it('are all called as they are registered', () => {
    for (const [name, { name: own }] of FUNCTIONS) assert.equal(own, name)
  })
})
