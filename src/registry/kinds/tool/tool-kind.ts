import { createSlices } from '../../../runtime/slices.ts'
import { type Diagnostic, reject } from '../../diagnose/diagnostic.ts'
import { decodeJson } from '../../entries/decode-value.ts'
import { type CheckContext, type EntryKind, type NewEntry } from '../../kind.ts'
import { type ToolEntry, toolParser } from './tool-entry.ts'

/** Tools, `shenma:tools:*`. */
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

async function checkTool ({ id, text }: NewEntry, { generation: { tools }, toolReader }: CheckContext): Promise<readonly Diagnostic[]> {
  const { definition, diagnostics } = await toolParser('', toolReader).parse(id.replaceAll('.', ':'), text, createSlices())
  // Of two tools with one function name one would be rejected, this one or the other.
  const owner = [...tools.values()].find(tool => tool.definition.name === definition.name && tool.id !== id)
  if (owner === undefined) return diagnostics()
  return [...diagnostics(), ...reject('FUNCTION_TAKEN', `its function name ${definition.name} belongs to the tool ${owner.id}`, 'give it another id').diagnostics]
}
