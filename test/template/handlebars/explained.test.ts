import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { parse } from 'yaml'
import { Trace } from '../../../src/template/trace.ts'
import { type JsonObject } from '../../../src/base/json.ts'
import { joined } from '../trace/joined.ts'
import { sample } from './grammar.ts'
import { type Partials, renderTolerantly } from './harness.ts'
import { property } from '../../helpers/property.ts'

interface CaseFile {
  readonly about: string
  readonly data: Readonly<Record<string, JsonObject>>
  readonly partials?: Partials
  readonly templates: readonly string[]
}

const FOLDER = new URL('cases/', import.meta.url)
const files = readdirSync(FOLDER).map(name => parse(readFileSync(new URL(name, FOLDER), 'utf8')) as CaseFile)

function assertExplained (text: string, data: JsonObject, partials: Partials): void {
  const trace = new Trace()
  const output = renderTolerantly(text, data, partials)
  assert.equal(renderTolerantly(text, data, partials, trace), output, 'the output when it is explained')
  assert.equal(joined(trace), output, 'the spans, joined')
}

describe('Handlebars, explained', () => {
  for (const { about, data, partials = {}, templates } of files) {
    it(`gives the same, and in spans: ${about}`, () => {
      for (const text of templates) {
        for (const variables of Object.values(data)) assertExplained(text, variables, partials)
      }
    })
  }

  property('gives the same, and in spans, for generated templates', 2000, given => {
    let rendered = 0
    given.holds(fc.property(sample, ({ text, data, partials }) => {
      try {
        renderTolerantly(text, data, partials)
      } catch {
        return
      }
      rendered++
      assertExplained(text, data, partials)
    }))
    given.wasOfUse(rendered, 0.6)
  })
})
