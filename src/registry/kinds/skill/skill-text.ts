import { type Json, type JsonObject, parseJson, stringifyJson } from '../../../base/json.ts'
import { yamlToJson } from '../../../store/yaml-to-json.ts'
import { isObject } from '../../../template/value.ts'
import { type Diagnostic } from '../../diagnostic/diagnostic.ts'

/** Matches the front matter of a text: YAML between two lines of `---` at its beginning. */
const FRONT_MATTER = /^---[ \t]*\r?\n(?:([\s\S]*?)\r?\n)?---[ \t]*(?:\r?\n|$)/

/** The contents of a SKILL.md: its front matter (the YAML at the top) and its body. */
export interface SkillText {
  /** The fields of the front matter, and the rest of the text as `body`. */
  readonly source: JsonObject
  /** The front matter as it stands, with its lines of `---`; empty where there is none. */
  readonly head: string
  /** The reason why the front matter cannot be read; then `source` has only the body. */
  readonly problem?: Diagnostic
}

/** Reads the text of a SKILL.md. It never throws: a text whose front matter cannot be read gives a `problem` and no fields. */
export function readSkillText (text: string): SkillText {
  const [whole = '', yaml = ''] = FRONT_MATTER.exec(text) ?? []
  const body = text.slice(whole.length)
  const without = (problem: Diagnostic): SkillText => ({ source: { body }, head: whole, problem })
  if (whole === '') return without(unusable(text.startsWith('---') ? 'the front matter is not closed' : 'there is no front matter'))
  if (yaml.trim() === '') return without(unusable('the front matter is empty'))
  const read = yamlToJson(yaml)
  if (read.kind !== 'text') {
    // A line of `---` stands above the YAML, so a line number in the YAML is one too low for the whole text.
    const place = read.kind === 'bad' && read.place !== undefined ? { line: read.place.line + 1, column: read.place.column } : {}
    return without({ ...unusable(`the front matter ${read.kind === 'bad' ? read.reason : 'is empty'}`), ...place })
  }
  const fields: Json = parseJson(read.text)
  if (!isObject(fields)) return without(unusable('the front matter is no map of fields'))
  return { source: { ...fields as JsonObject, body }, head: whole }
}

/** The whole text of a SKILL.md, put together from its parts. @param head the front matter as it is stored; empty for a skill that is stored as JSON */
export function wholeSkillText (head: string, { body, ...fields }: JsonObject): string {
  // JSON is valid YAML, so the values can be written as JSON.
  const lines = Object.entries(fields).map(([name, value]) => `${/^[\w-]+$/.test(name) ? name : stringifyJson(name)}: ${stringifyJson(value)}\n`)
  return `${head === '' ? `---\n${lines.join('')}---\n` : head}${String(body)}`
}

function unusable (message: string): Diagnostic {
  return { severity: 'error', code: 'FRONT_MATTER', message, hint: 'begin with ---, name: and description: in YAML, and --- again' }
}
