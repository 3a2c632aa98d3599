import { type Caller } from '../../access/caller.ts'
import { type Diagnostic, reject, RejectedEntry } from '../../registry/diagnostic/diagnostic.ts'
import { locate } from '../../registry/diagnostic/locate.ts'
import { findToolProblems } from '../../registry/lint/tool-uses.ts'
import { type Generation } from '../../registry/generation/generation.ts'
import { type CheckContext, type Kind, type NewEntry } from '../../registry/kinds/kind.ts'
import { MAX_VALUE_BYTES } from '../../store/store.ts'
import { type ToolReader } from '../../tool/definition/tool-reader.ts'
import { type LintCandidate } from '../lint/lint-candidate.ts'

/** The most segments (parts between dots) that the id of a published entry has. The name of a shared variable has the same limit. */
const MAX_SEGMENTS = 32

/** An entry (a prompt, a tool, an agent …) that is checked before it is stored. */
export interface Candidate extends NewEntry {
  readonly kind: Kind
}

/** Checks an entry as the registry would, and gives the diagnostics. If one of them is an error, the entry, or a prompt that it contains, would not run. */
export type CheckEntry = (generation: Generation, entry: Candidate, caller: Caller) => Promise<readonly Diagnostic[]>

/** The parts of the service that are needed to check a prompt, a tool or another entry. */
export interface EntryCheckOptions {
  readonly lintCandidate: LintCandidate
  readonly toolReader: ToolReader
}

/** Makes the check of entries before they are stored. It runs the same code that reads an entry from the store. */
export function createEntryCheck ({ lintCandidate, toolReader }: EntryCheckOptions): CheckEntry {
  return async function checkEntry (generation, { kind, id, text }, caller) {
    const unusable = findUnstorable(id, text)
    if (unusable.length > 0) return unusable
    const context: CheckContext = {
      toolReader,
      toolOfFunction: name => [...generation.tools.values()].find(tool => tool.definition.name === name)?.id,
      findToolProblems: uses => findToolProblems(uses, generation),
      lint: (candidate, entry) => lintCandidate(generation, { kind: candidate, ...entry }, caller)
    }
    try {
      return locate(await kind.check({ id, text }, context), text)
    } catch (error) {
      if (error instanceof RejectedEntry) return locate(error.diagnostics, text)
      throw error
    }
  }
}

/** The reasons why a text cannot be stored under an id, whatever the kind of the entry; an empty list if it can. */
export function findUnstorable (id: string, text: string): readonly Diagnostic[] {
  return [...misnamed(id), ...tooLong(text)]
}

function misnamed (id: string): readonly Diagnostic[] {
  const segments = id.split('.')
  if (segments.includes('')) return reject('KEY_INVALID', 'the id has an empty segment').diagnostics
  if (segments.length > MAX_SEGMENTS) return reject('KEY_INVALID', `the id has more than ${MAX_SEGMENTS} segments`).diagnostics
  return /\p{Cc}|\p{Cs}/u.test(id) ? reject('KEY_INVALID', 'the id has a control character').diagnostics : []
}

function tooLong (text: string): readonly Diagnostic[] {
  const bytes = Buffer.byteLength(text)
  return bytes <= MAX_VALUE_BYTES ? [] : reject('VALUE_INVALID', `the value is ${bytes} bytes long; at most ${MAX_VALUE_BYTES} are allowed`).diagnostics
}
