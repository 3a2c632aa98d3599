import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { parse } from 'yaml'
import { ServiceError } from '../../../src/base/errors.ts'
import { type JsonObject } from '../../../src/base/json.ts'
import { DIFFERENCES } from './differences.ts'
import { sample } from './grammar.ts'
import { renderTolerantly, renderWithPackage, skipsLevels, type Partials } from './harness.ts'
import { property } from '../../helpers/property.ts'

interface CaseFile {
  readonly about: string
  readonly data: Readonly<Record<string, JsonObject>>
  readonly partials?: Partials
  readonly templates: readonly string[]
}

const FOLDER = new URL('cases/', import.meta.url)
const files = readdirSync(FOLDER).map(name => parse(readFileSync(new URL(name, FOLDER), 'utf8')) as CaseFile)

function attempt (render: () => string): string | Error {
  try {
    return render()
  } catch (error) {
    return error as Error
  }
}

/** What a render gives; every failure is the same, since the two word theirs differently. */
function outputOf (attempted: string | Error): string | undefined {
  return typeof attempted === 'string' ? attempted : undefined
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

  property('renders generated templates alike', 10_000, given => {
    let rendered = 0
    given.holds(fc.property(sample, ({ text, data, partials }) => {
      const ours = attempt(() => renderTolerantly(text, data, partials))
      // What is over the budget here may have no end in the package.
      fc.pre(!(ours instanceof ServiceError))
      const expected = attempt(() => renderWithPackage(text, data, partials))
      if (typeof expected === 'string') rendered++
      if (outputOf(ours) !== outputOf(expected)) fc.pre(!skipsLevels(text, data, partials))
      assert.equal(outputOf(ours), outputOf(expected))
    }))
    given.wasOfUse(rendered, 0.7)
  })

  for (const { about, text, data, partials = {}, ...expected } of DIFFERENCES) {
    it(`differs: ${about}`, () => {
      assert.equal(outputOf(attempt(() => renderTolerantly(text, data, partials))), expected.ours, 'ours')
      assert.equal(outputOf(attempt(() => renderWithPackage(text, data, partials))), expected.package, 'package')
    })
  }
})
