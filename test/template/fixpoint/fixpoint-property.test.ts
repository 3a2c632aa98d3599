import assert from 'node:assert/strict'
import { describe, type TestContext } from 'node:test'
import { type Given, property } from '../../helpers/property.ts'
import { compare, describeProgram } from './compare.ts'
import { makeLargeProgram } from './generate/large-grammar.ts'
import { Random } from './generate/random.ts'
import { makeSmallProgram } from './generate/small-grammar.ts'
import { type Program, type Syntax } from './program.ts'
import { shrink } from './shrink.ts'

/** How many programs run in all. */
const RUNS = 24_000

// The small grammar's programs cost half, and the rarest orders of passes are found by it.
const GENERATORS: ReadonlyArray<readonly [name: string, share: number, make: (random: Random, syntax: Syntax) => Program]> = [
  ['the large grammar', 1 / 3, makeLargeProgram],
  ['the small grammar', 2 / 3, makeSmallProgram]
]

const SYNTAXES: readonly Syntax[] = ['go', 'handlebars']

describe('an engine comes to the output and the calls of a strict evaluation', () => {
  for (const [name, share, make] of GENERATORS) {
    for (const syntax of SYNTAXES) {
      property(`for programs of ${name} in ${syntax} syntax`, Math.ceil(RUNS * share / SYNTAXES.length), (given, test) => compareAll(test, given, seed => make(new Random(seed), syntax)))
    }
  }
})

async function compareAll (test: TestContext, given: Given, make: (seed: number) => Program): Promise<void> {
  const tally = { output: 0, miss: 0, error: 0, unspecified: 0 }
  for (let seed = given.seed; seed < given.seed + given.runs; seed++) {
    const program = make(seed)
    const { outcome, difference } = await compare(program)
    tally[outcome]++
    if (difference !== undefined) assert.fail(await report(seed, program))
  }
  test.diagnostic(`PROPERTY_SEED=${given.seed}: ${given.runs} programs, of which ${JSON.stringify(tally)}`)
  given.wasOfUse(tally.output, 0.6)
  // The reference must know nearly all programs.
  given.wasOfUse(given.runs - tally.unspecified, 0.9)
}

async function report (seed: number, program: Program): Promise<string> {
  const small = await shrink(program, hasDifference)
  const { difference } = await compare(small)
  return `PROPERTY_SEED=${seed}: ${difference ?? ''}\n${describeProgram(small)}\n\nshrunk from\n${describeProgram(program)}`
}

/** What shrinking makes may be no program at all, such as one with a `break` outside of a loop. */
async function hasDifference (program: Program): Promise<boolean> {
  try {
    const { difference } = await compare(program)
    return difference !== undefined && !difference.startsWith('the engine throws TemplateSyntaxError')
  } catch {
    return false
  }
}
