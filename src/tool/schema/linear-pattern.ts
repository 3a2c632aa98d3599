import { type RegExpEngine } from 'ajv/dist/types/index.js'
import { RE2JS, RE2JSSyntaxException } from 're2js'
import { toLinearPattern } from './ecma-pattern.ts'
import { type WorkMeter } from './work-meter.ts'

/** The greatest length of one pattern, in UTF-16 units. */
const MAX_PATTERN = 500

/** The greatest number of states of all automata of a schema together. Compiling takes about 1 µs for each. */
const MAX_STATES = 20_000

/** The cost of compiling a `\p{…}`, which has hundreds of ranges, and of a character of a written-out class, in states. */
const PROPERTY_STATES = 150
const CHARACTER_STATES = 0.1

/**
 * Makes the engine of regular expressions that ajv uses for `pattern` and `patternProperties` of one schema. Patterns are those of ECMA-262, as JSON
 * Schema demands. RE2 runs them in time linear to the text, whereas a backtracking `RegExp` can be made to run for ever. Look-around and back
 * references cannot be run in this way, and are refused when the schema is compiled.
 */
export function createPatternEngine (meter: WorkMeter): RegExpEngine {
  let states = 0
  const charge = (more: number) => {
    states += more
    if (states > MAX_STATES) throw new Error(`its patterns need more than ${MAX_STATES} states`)
  }
  const compile = (pattern: string) => {
    if (pattern.length > MAX_PATTERN) throw new Error(`a pattern is longer than ${MAX_PATTERN} characters`)
    const linear = about(pattern, () => toLinearPattern(pattern))
    charge(linear.length * CHARACTER_STATES + (linear.split(/\\[pP]/).length - 1) * PROPERTY_STATES)
    const automaton = about(pattern, () => RE2JS.compile(linear))
    const size = automaton.programSize()
    charge(size)
    return {
      test (text: string): boolean {
        meter.tryPattern(text.length, size)
        return automaton.test(text)
      },
      // ajv shares patterns within a schema by this text.
      toString: () => pattern
    }
  }
  return Object.assign(compile as unknown as RegExpEngine, { code: 'new RegExp' })
}

function about<T> (pattern: string, work: () => T): T {
  try {
    return work()
  } catch (error) {
    // RE2 would quote its own form of the pattern, so only the description of the mistake is shown.
    const reason = error instanceof RE2JSSyntaxException ? error.getDescription() : (error as Error).message
    throw new Error(`pattern "${pattern}" is not supported: ${reason}`)
  }
}
