import { Document } from 'yaml'
import { canonicalJson, parseJson } from '../../base/json.ts'
import { yamlToJson } from '../yaml-to-json.ts'

/**
 * The YAML text of a JSON text, with long texts as blocks, as people write them.
 * @returns `undefined` for a text that is no JSON, is too large, or would not be read back as the same value
 */
export function jsonToYaml (json: string): string | undefined {
  try {
    const value = parseJson(json)
    // Lines are not folded: a template's line ends are part of it.
    const yaml = new Document(value, { aliasDuplicateObjects: false }).toString({ lineWidth: 0 })
    const read = yamlToJson(yaml)
    return read.kind === 'text' && canonicalJson(parseJson(read.text)) === canonicalJson(value) ? yaml : undefined
  } catch {
    return undefined
  }
}
