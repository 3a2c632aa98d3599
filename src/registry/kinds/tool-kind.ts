import { createSlices } from '../../runtime/event-loop.ts'
import { keyToFunction, keyToPath } from '../../store/store.ts'
import { RESERVED_FUNCTIONS } from '../../template/functions.ts'
import type { ToolDefinition } from '../../tool/definition.ts'
import type { ToolReader } from '../../tool/tool-reader.ts'
import { type Diagnostic, reject, RejectedEntry } from '../diagnostic.ts'
import { entrySchema, lintFields } from '../entries/entry-schemas.ts'
import type { EntryParser } from '../entries/entry-table.ts'
import { type CheckContext, decodeJson, type EntryKind, type NewEntry } from './entry-kind.ts'

const { fields } = entrySchema('tool')

export interface ToolEntry {
  readonly id: string
  readonly definition: ToolDefinition
  /** One warning depends on whether the address of the tool's program is known now. */
  diagnostics (): readonly Diagnostic[]
  readonly hash: string
}

/** Parses `shenma:tools:*`. */
function toolParser (prefix: string, reader: ToolReader): EntryParser<ToolEntry> {
  return {
    nameOf: key => keyToFunction(key, prefix),
    async parse (key, text) {
      const id = keyToPath(key, prefix)
      const name = keyToFunction(key, prefix)
      if (RESERVED_FUNCTIONS.has(name)) {
        throw reject(
          'FUNCTION_RESERVED',
        `its function name ${name} is a builtin of the template languages`,
        'give it another key'
        )
      }
      if (!/^[\p{L}_]/u.test(name)) throw reject('FUNCTION_INVALID', `its function name ${name} does not begin with a letter`, 'give it another key')
      const { value } = decodeJson(text)
      const { definition, diagnostics } = reader.read(name, id, value)
      const misspelt = lintFields(value, fields)
      if (definition === undefined) throw new RejectedEntry([...diagnostics, ...misspelt])
      return { id, definition, diagnostics: () => [...diagnostics, ...reader.adviseOnAddress(definition), ...misspelt], hash: definition.revision }
    },
    isSound: () => true,
    isUsable: () => true,
    diagnostics: entry => entry.diagnostics()
  }
}

/** Stored under `shenma:tools:*`. */
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
  // Function names are unique: the registry would reject one of them.
  const owner = toolOfFunction(definition.name)
  if (owner === undefined || owner === id) return diagnostics()
  return [...diagnostics(), ...reject('FUNCTION_TAKEN', `its function name ${definition.name} belongs to the tool ${owner}`, 'give it another id').diagnostics]
}
