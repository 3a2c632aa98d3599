import { type RegExpEngine } from 'ajv/dist/types/index.js'
import { RE2JS, RE2JSSyntaxException } from 're2js'
import { toLinearPattern } from './ecma-pattern.ts'
import { type WorkMeter } from './work-meter.ts'

/** The longest pattern (regular expression), in UTF-16 units. */
const MAX_PATTERN = 500

/** The most states that the automata of all regular expressions in a schema have together. Compiling takes about 1 µs for each state. */
const MAX_STATES = 20_000

/** The states that are added for each `\p{…}` (it has hundreds of ranges) and for each character of a translated pattern: both take time to compile. */
const PROPERTY_STATES = 150
const CHARACTER_STATES = 0.1

/**
 * Makes the regular-expression engine that ajv uses for `pattern` and `patternProperties` of one schema. Patterns are ECMA-262, as JSON
 * Schema defines. They are run by RE2 in time linear to the text, since a backtracking `RegExp` can be made to run for ever. Look-around
 * and back references cannot be run that way, and are refused when the schema is compiled.
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
      // ajv uses this text to recognise equal patterns in a schema.
      toString: () => pattern
    }
  }
  return Object.assign(compile as unknown as RegExpEngine, { code: 'new RegExp' })
}

function about<T> (pattern: string, work: () => T): T {
  try {
    return work()
  } catch (error) {
    // RE2's whole message would quote the translated pattern, which the author does not know, so only its description is used.
    const reason = error instanceof RE2JSSyntaxException ? error.getDescription() : (error as Error).message
    throw new Error(`pattern "${pattern}" is not supported: ${reason}`)
  }
}
