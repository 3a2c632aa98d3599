import assert from 'node:assert/strict'
import { describe } from 'node:test'
import fc from 'fast-check'
import { adversarialProgram, randomProgram } from './random-program.ts'
import { render, renderStrictly, type Rendered, type World } from './workbench.ts'
import { property } from '../../helpers/property.ts'

const WORLD: World = {
  variables: { list: ['a', 'b', 'c'], on: true, off: false, empty: [] },
  environs: { 'chat:s1': 'first', 'chat:s2': '' },
  tools: {
    echo: value => value,
    give: (...values) => values,
    tick: value => `t${JSON.stringify(value)}`,
    toggle: value => value === true ? false : value === false ? true : value === 0,
    items: () => [0, 1, 'two', false],
    few: () => [true],
    flag: () => true,
    zero: () => 0
  },
  limits: { calls: 10_000, visits: 50_000, depth: 20 }
}

function strictly (program: string): Rendered | undefined {
  try {
    return renderStrictly(program, WORLD)
  } catch {
    return undefined
  }
}

describe('a render to a fixpoint of a random program', () => {
  for (const [name, build] of [['large', randomProgram], ['adversarial', adversarialProgram]] as const) {
    property(`comes to the output and the calls of a strict evaluation (${name} grammar)`, 500, async given => {
      let compared = 0
      const tape = fc.array(fc.nat(10_000), { minLength: 5, maxLength: 160, size: 'max' })
      await given.comesToHold(fc.asyncProperty(tape, async numbers => {
        const program = build(numbers)
        const strict = strictly(program)
        if (strict === undefined) return
        const rendered = await render(program, { ...WORLD, limits: { ...WORLD.limits, visits: 5_000_000 } })
        assert.equal(rendered.output, strict.output, program)
        assert.deepEqual([...rendered.calls].sort(), [...strict.calls].sort(), program)
        compared++
      }))
      given.wasOfUse(compared, 0.3)
    })
  }
})
