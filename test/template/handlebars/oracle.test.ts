import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { parse } from 'yaml'
import { type JsonObject } from '../../../src/template/value.ts'
import { DIFFERENCES } from './differences.ts'
import { sample } from './grammar.ts'
import { renderTolerantly, renderWithPackage, type Partials } from './harness.ts'

interface CaseFile {
  readonly about: string
  readonly data: Readonly<Record<string, JsonObject>>
  readonly partials?: Partials
  readonly templates: readonly string[]
}

const FOLDER = new URL('cases/', import.meta.url)
const files = readdirSync(FOLDER).map(name => parse(readFileSync(new URL(name, FOLDER), 'utf8')) as CaseFile)

/** What a render gives; every failure is the same, since the two word theirs differently. */
function outcome (render: () => string): string | undefined {
  try {
    return render()
  } catch {
    return undefined
  }
}

describe('Handlebars, compared with the handlebars package', () => {
  for (const { about, data, partials = {}, templates } of files) {
    describe(about, () => {
      for (const text of templates) {
        it(`renders ${JSON.stringify(text)} alike`, () => {
          for (const variables of Object.values(data)) {
            assert.equal(renderTolerantly(text, variables, partials), renderWithPackage(text, variables, partials))
          }
        })
      }
    })
  }

  it('has at least 400 written cases', () => {
    const count = files.reduce((sum, { data, templates }) => sum + Object.keys(data).length * templates.length, 0)
    assert.ok(count >= 400, `there are ${count}`)
  })

  it('renders 10,000 generated templates alike', () => {
    let rendered = 0
    fc.assert(fc.property(sample, ({ text, data, partials }) => {
      const expected = outcome(() => renderWithPackage(text, data, partials))
      if (expected !== undefined) rendered++
      assert.equal(outcome(() => renderTolerantly(text, data, partials)), expected)
    }), { numRuns: 10_000 })
    assert.ok(rendered > 7000, `only ${rendered} of them rendered`)
  })

  for (const { about, text, data, partials = {}, ...expected } of DIFFERENCES) {
    it(`differs: ${about}`, () => {
      assert.equal(outcome(() => renderTolerantly(text, data, partials)), expected.ours, 'ours')
      assert.equal(outcome(() => renderWithPackage(text, data, partials)), expected.package, 'package')
    })
  }
})
