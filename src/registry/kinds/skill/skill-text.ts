import { type Json, type JsonObject, parseJson } from '../../../base/json.ts'
import { yamlToJson } from '../../../store/directory/yaml-to-json.ts'
import { isObject } from '../../../template/value.ts'
import { type Diagnostic } from '../../diagnose/diagnostic.ts'

/** YAML between two lines of `---` at the beginning of a text. */
const FRONT_MATTER = /^---[ \t]*\r?\n(?:([\s\S]*?)\r?\n)?---[ \t]*(?:\r?\n|$)/

/** What the text of a SKILL.md stands for. */
export interface SkillText {
  /** The fields of its front matter, and the body. */
  readonly source: JsonObject
  /** Why the front matter cannot be read; then there are no fields. */
  readonly diagnostics: readonly Diagnostic[]
}

/** Reads a SKILL.md. Whatever its front matter is, there is a skill: other programs read the same file more leniently. */
export function readSkillText (text: string): SkillText {
  const [whole = '', yaml = ''] = FRONT_MATTER.exec(text) ?? []
  const body = text.slice(whole.length)
  if (whole === '') return { source: { body }, diagnostics: [unusable(text.startsWith('---') ? 'the front matter is not closed' : 'there is no front matter')] }
  if (yaml.trim() === '') return { source: { body }, diagnostics: [unusable('the front matter is empty')] }
  const read = yamlToJson(yaml)
  if (read.kind !== 'text') {
    // One line is above the YAML.
    const place = read.kind === 'bad' && read.place !== undefined ? { line: read.place.line + 1, column: read.place.column } : {}
    return { source: { body }, diagnostics: [{ ...unusable(`the front matter ${read.kind === 'bad' ? read.reason : 'is empty'}`), ...place }] }
  }
  const fields: Json = parseJson(read.text)
  if (!isObject(fields)) return { source: { body }, diagnostics: [unusable('the front matter is no map of fields')] }
  return { source: { ...fields as JsonObject, body }, diagnostics: [] }
}

function unusable (message: string): Diagnostic {
  return { severity: 'warning', code: 'FRONT_MATTER', message, hint: 'begin with ---, name: and description: in YAML, and --- again' }
}
