import { Document } from 'yaml'
import { canonicalJson, parseJson } from '../base/json.ts'
import { yamlToJson } from './decode-value.ts'

/** Long texts become blocks. `undefined` for no JSON, too large, or not read back as the same value. */
export function jsonToYaml (json: string): string | undefined {
  try {
    const value = parseJson(json)
    // Not folded, because the line ends of a template are part of it.
    const yaml = new Document(value, { aliasDuplicateObjects: false }).toString({ lineWidth: 0 })
    const read = yamlToJson(yaml)
    return read.kind === 'text' && canonicalJson(parseJson(read.text)) === canonicalJson(value) ? yaml : undefined
  } catch {
    return undefined
  }
}
