import { type RegExpEngine } from 'ajv/dist/types/index.js'
import { RE2JS } from 're2js'
import { type WorkMeter } from './work-meter.ts'

/** Length of one pattern, in UTF-16 units. */
const MAX_PATTERN = 500

/** States of all automata of a schema together; about 1 µs of compile time each. */
const MAX_STATES = 20_000

/**
 * Makes the engine that ajv uses for `pattern` and `patternProperties` of one schema: RE2, which runs in time linear to
 * the text, where a backtracking `RegExp` can be made to run for ever. Look-around and back references do not exist in
 * it and are refused when the schema is compiled.
 */
export function createPatternEngine (meter: WorkMeter): RegExpEngine {
  let states = 0
  const compile = (pattern: string) => {
    if (pattern.length > MAX_PATTERN) throw new Error(`a pattern is longer than ${MAX_PATTERN} characters`)
    const automaton = parse(pattern)
    const size = automaton.programSize()
    states += size
    if (states > MAX_STATES) throw new Error(`its patterns need more than ${MAX_STATES} states`)
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

function parse (pattern: string): RE2JS {
  try {
    return RE2JS.compile(RE2JS.translateRegExp(pattern))
  } catch (error) {
    throw new Error(`pattern "${pattern}" is not supported (RE2 syntax, no look-around): ${(error as Error).message}`)
  }
}
