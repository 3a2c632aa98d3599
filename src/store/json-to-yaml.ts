import { Document } from 'yaml'
import { canonicalJson, parseJson } from '../base/json.ts'
import { yamlToJson } from './decode-value.ts'

/**
 * Turns a JSON text into YAML as people write it: long texts become blocks.
 * @returns `undefined` for a text that is no JSON, is too large, or would not be read back as the same value
 */
export function jsonToYaml (json: string): string | undefined {
  try {
    const value = parseJson(json)
    // Lines are not folded, because the line ends of a template are part of it.
    const yaml = new Document(value, { aliasDuplicateObjects: false }).toString({ lineWidth: 0 })
    const read = yamlToJson(yaml)
    return read.kind === 'text' && canonicalJson(parseJson(read.text)) === canonicalJson(value) ? yaml : undefined
  } catch {
    return undefined
  }
}
