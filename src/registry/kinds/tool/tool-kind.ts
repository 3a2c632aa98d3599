import { createSlices } from '../../../runtime/slices.ts'
import { type Diagnostic, reject } from '../../diagnostic/diagnostic.ts'
import { decodeJson } from '../../entries/decode-value.ts'
import { type CheckContext, type EntryKind, type NewEntry } from '../kind.ts'
import { type ToolEntry, toolParser } from './tool-entry.ts'

/** The kind of entries that are tools (functions that templates and models call, and that a server carries out), stored under `shenma:tools:*`. */
export const toolKind: EntryKind<ToolEntry> = {
  key: 'tools',
  name: 'tools',
  noun: 'tool',
  reading: 'whole',
  access: 'open',
  decode: decodeJson,
  normalise: value => value,
  check: checkTool,
  parser: ({ prefix, toolReader }) => toolParser(prefix, toolReader)
}

async function checkTool ({ id, text }: NewEntry, { toolOfFunction, toolReader }: CheckContext): Promise<readonly Diagnostic[]> {
  const { definition, diagnostics } = await toolParser('', toolReader).parse(id.replaceAll('.', ':'), text, createSlices())
  // Two tools cannot have the same function name: the registry would reject one of them.
  const owner = toolOfFunction(definition.name)
  if (owner === undefined || owner === id) return diagnostics()
  return [...diagnostics(), ...reject('FUNCTION_TAKEN', `its function name ${definition.name} belongs to the tool ${owner}`, 'give it another id').diagnostics]
}
