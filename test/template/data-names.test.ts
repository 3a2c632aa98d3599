import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { dataMember, isDataName, ScopeRoot } from '../../src/template/scope.ts'
import { MergedContext } from '../../src/template/handlebars/partials.ts'
import { DEFAULT_LIMITS, RenderRun } from '../../src/template/run.ts'
import { Absent, NOTHING, PENDING } from '../../src/template/value.ts'

const environs = { has: () => true, hasBelow: () => true, namesBelow: () => [], segmentsBelow: () => [], cached: () => undefined, fetch: async () => new Map() }
const run = new RenderRun({ environs, limits: DEFAULT_LIMITS })
const root = new ScopeRoot(run, {}, {}, undefined)

const OTHERS: Readonly<Record<string, object>> = {
  'an object': {},
  'a list': [],
  'what is pending': PENDING,
  nothing: NOTHING,
  'what is absent': new Absent('a'),
  'the scope root': root,
  'a branch of the shared variables': root.field('vscode') as object,
  'a context with named arguments': new MergedContext(root, {})
}

describe('members that are read without asking whose they are', () => {
  for (const [title, value] of Object.entries(OTHERS)) {
    it(`has no member of data in ${title}`, () => {
      const read = [...namesOf(value)].filter(name => isDataName(name) && dataMember(value, name) !== undefined)
      assert.deepEqual(read, [])
    })
  }

  it('reads a member of data', () => {
    assert.equal(isDataName('name'), true)
    assert.equal(dataMember({ name: 'Ann' }, 'name'), 'Ann')
  })
})

/** The names of all that an object has, inherited or not. */
function namesOf (value: object): Set<string> {
  const names = new Set<string>()
  for (let each: object | null = value; each !== null; each = Object.getPrototypeOf(each) as object | null) {
    for (const name of Object.getOwnPropertyNames(each)) names.add(name)
  }
  return names
}
