import { type Caller } from '../../access/caller.ts'
import { type Diagnostic, reject, RejectedEntry } from '../../registry/diagnose/diagnostic.ts'
import { decodeValue } from '../../registry/entries/decode-value.ts'
import { lintEnvironName } from '../../registry/kinds/environ/environs.ts'
import { type Generation } from '../../registry/generation.ts'
import { createSlices } from '../../runtime/slices.ts'
import { toolParser } from '../../registry/kinds/tool/tool-entry.ts'
import { type Kind } from '../../store/keys.ts'
import { MAX_VALUE_BYTES } from '../../store/store.ts'
import { type Operator } from '../../tool/operator.ts'
import { type LintCandidate } from '../lint/lint-candidate.ts'

/** Segments of a key that is written, the most that a shared variable's may have. */
const MAX_SEGMENTS = 32

/** Something that is to be stored. */
export interface NewEntry {
  readonly kind: Kind
  /** Dotted. */
  readonly id: string
  /** As it will be stored. */
  readonly text: string
}

/** What the registry would say of an entry: an error among it means that the entry, or a prompt of it, would not run. */
export type CheckEntry = (generation: Generation, entry: NewEntry, caller: Caller) => Promise<readonly Diagnostic[]>

/** What checking needs of the rest of the service. */
export interface EntryCheckOptions {
  readonly lintCandidate: LintCandidate
  readonly operator: Operator
}

/** Checks what is to be stored by the code that reads it when it is. */
export function createEntryCheck ({ lintCandidate, operator }: EntryCheckOptions): CheckEntry {
  const tools = toolParser('', operator)
  return async function checkEntry (generation, { kind, id, text }, caller) {
    const unusable = [...misnamed(id), ...tooLong(text)]
    if (unusable.length > 0) return unusable
    if (kind === 'templates') return await lintCandidate(generation, { kind: 'prompt', id, text }, caller)
    if (kind === 'extensions') return await lintCandidate(generation, { kind: 'extension', id, text }, caller)
    return await parsed(async () => kind === 'tools' ? await checkTool(generation, id, text) : [...lintEnvironName(id), ...decodeValue(kind, text).diagnostics])
  }

  async function checkTool (generation: Generation, id: string, text: string): Promise<readonly Diagnostic[]> {
    const { definition, diagnostics } = await tools.parse(id.replaceAll('.', ':'), text, createSlices())
    return [...diagnostics(), ...taken(generation, id, definition.name)]
  }
}

/** Of two tools with one function name one would be rejected, this one or the other. */
function taken ({ tools }: Generation, id: string, name: string): readonly Diagnostic[] {
  const owner = [...tools.values()].find(tool => tool.definition.name === name && tool.id !== id)
  return owner === undefined ? [] : reject('FUNCTION_TAKEN', `its function name ${name} belongs to the tool ${owner.id}`, 'give it another id').diagnostics
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

async function parsed (parse: () => Promise<readonly Diagnostic[]>): Promise<readonly Diagnostic[]> {
  try {
    return await parse()
  } catch (error) {
    if (error instanceof RejectedEntry) return error.diagnostics
    throw error
  }
}
