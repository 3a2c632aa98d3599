import { type Diagnostic } from '../../diagnostic/diagnostic.ts'
import { decodeJson } from '../../entries/decode-value.ts'
import { checkPromptId } from '../../link/prompt-reference.ts'
import { type Kind } from '../kind.ts'
import { TESTS } from '../release/version-text.ts'
import { parseTests } from './test-cases.ts'

/**
 * The kind of entries that are lists of tests, one list for each prompt, stored under `shenma:tests:*` with the prompt's id. They are read from the
 * store for each request and are not in the registry's snapshots: so a change of a test changes no revision.
 */
export const testsKind: Kind = {
  key: TESTS,
  name: 'tests',
  noun: 'list of tests',
  reading: 'asked',
  access: 'prompts',
  decode: decodeJson,
  normalise: value => value,
  async check ({ id, text }) {
    checkPromptId(id)
    parseTests(decodeJson(text).value)
    return []
  }
}

/** The warning that tests have been stored for a prompt that does not exist. */
export function withoutPrompt (id: string): Diagnostic {
  return { severity: 'warning', code: 'PROMPT_UNKNOWN', message: `there is no prompt "${id}" that these tests could be of` }
}
