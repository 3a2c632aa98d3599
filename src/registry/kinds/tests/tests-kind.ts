import { type Diagnostic } from '../../diagnostic/diagnostic.ts'
import { decodeJson } from '../../entries/decode-value.ts'
import { type Kind } from '../kind.ts'
import { TESTS } from '../release/version-text.ts'
import { parseTests } from './test-cases.ts'

/**
 * Tests of prompts, `shenma:tests:*`; the id is that of the prompt. They are read when they are asked for, and in no
 * generation: a test changes no revision.
 */
export const testsKind: Kind = {
  key: TESTS,
  name: 'tests',
  noun: 'list of tests',
  reading: 'asked',
  access: 'prompts',
  decode: decodeJson,
  normalise: value => value,
  async check ({ text }) {
    parseTests(decodeJson(text).value)
    return []
  }
}

/** That tests are of a prompt that is not there. */
export function withoutPrompt (id: string): Diagnostic {
  return { severity: 'warning', code: 'PROMPT_UNKNOWN', message: `there is no prompt "${id}" that these tests could be of` }
}
