import { keyToFunction, keyToPath } from '../../../store/keys.ts'
import { RESERVED_FUNCTIONS } from '../../../template/functions/reserved.ts'
import { isObject } from '../../../template/value.ts'
import { type ToolDefinition } from '../../../tool/definition/definition.ts'
import { type ToolReader } from '../../../tool/definition/tool-reader.ts'
import { decodeJson } from '../../entries/decode-value.ts'
import { type Diagnostic, reject, RejectedEntry } from '../../diagnostic/diagnostic.ts'
import { entrySchema } from '../../entries/entry-schemas.ts'
import { type EntryParser } from '../../entries/entry-table.ts'
import { lintFields } from '../../entries/misspelt-fields.ts'

/** The known fields of a tool's registration, by which misspelt ones are noticed. All else about a tool is checked in `src/tool`. */
const { fields } = entrySchema('tool')

/** One registered tool: a function that templates and models call, and that a server carries out. */
export interface ToolEntry {
  readonly id: string
  readonly definition: ToolDefinition
  /** Gives the warnings about the tool at this moment. One of them depends on whether the address of the program that offers the tool is known. */
  diagnostics (): readonly Diagnostic[]
  readonly hash: string
}

/** The parser of registered tools, `shenma:tools:*`. */
export function toolParser (prefix: string, reader: ToolReader): EntryParser<ToolEntry> {
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
      const misspelt = isObject(value) ? lintFields(value, fields) : []
      if (definition === undefined) throw new RejectedEntry([...diagnostics, ...misspelt])
      return { id, definition, diagnostics: () => [...diagnostics, ...reader.adviseOnAddress(definition), ...misspelt], hash: definition.revision }
    },
    isSound: () => true,
    isUsable: () => true,
    diagnostics: entry => entry.diagnostics()
  }
}
