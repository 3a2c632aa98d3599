import { contentHash, type Json, type JsonObject } from '../../base/json.ts'
import { isObject } from '../../template/value.ts'
import { type Diagnostic, reject, RejectedEntry } from '../diagnostic.ts'
import { decodeTemplate, defineKind, type Definition } from './entry-kind.ts'
import { checkWithFields, entrySchema, lintFields } from '../entries/entry-schemas.ts'
import { readSkillOptions, readSkillText, type SkillOptions } from './skill-definition.ts'

const SCHEMA = entrySchema('skill')

/** A skill: instructions for a model, written in a SKILL.md or as JSON. Fields of the front matter that have no member here are in `source`. */
export interface SkillDefinition extends Definition {
  /** The name that the skill gives itself, or the last part of its id when it gives no usable name. */
  readonly name: string
  readonly description: string
  readonly body: string
  /** The front matter (the YAML at the top) as it stands in the SKILL.md; empty for a skill that is stored as JSON. */
  readonly head: string
  /** Whether the body is a template. If not, braces in it are plain text. */
  readonly isTemplate: boolean
  readonly options: SkillOptions
}

/** The kind of entries that are skills (instructions for a model), stored under `shenma:skills:*`. */
export const skillKind = defineKind<SkillDefinition>({
  key: 'skills',
  name: 'skills',
  noun: 'skill',
  access: 'runs',
  file: 'SKILL.md',
  decode: decodeTemplate,
  normalise: value => typeof value === 'string' ? readSkillText(value).source : value,
  define: defineSkill
})

/**
 * Makes a skill from its stored value. Mistakes in a SKILL.md are only warnings, because the file is perhaps written for other programs.
 * @throws RejectedEntry when JSON breaks `jsonschema/skill.json`, and for a SKILL.md without a description or readable front matter, since no model
 * could know when to choose such a skill
 */
function defineSkill (id: string, value: Json, origin: Definition['origin']): SkillDefinition {
  const { source, head, diagnostics } = typeof value === 'string' ? lenient(value) : strict(value)
  const { name, description, template, body } = source
  return {
    id,
    origin,
    source,
    name: typeof name === 'string' && name.trim() !== '' ? name.trim() : id.slice(id.lastIndexOf('.') + 1),
    description: description as string,
    body: body as string,
    head,
    isTemplate: template === true,
    options: readSkillOptions(source),
    diagnostics,
    hash: contentHash(source)
  }
}

function strict (value: Json) {
  const misspelt = isObject(value) ? lintFields(value as JsonObject, SCHEMA.fields) : []
  checkWithFields(() => { SCHEMA.check(value) }, () => misspelt)
  return { source: value as JsonObject, head: '', diagnostics: misspelt }
}

function lenient (text: string) {
  const { source, head, problem } = readSkillText(text)
  if (problem !== undefined) throw new RejectedEntry([problem])
  const { description } = source
  if (typeof description !== 'string' || description.trim() === '') {
    throw reject('SCHEMA', 'needs "description", a text', 'say what it does, and when to use it')
  }
  return { source, head, diagnostics: [...violations(source), ...lintFields(source, SCHEMA.fields)] }
}

function violations (source: JsonObject): Diagnostic[] {
  try {
    SCHEMA.check(source)
    return []
  } catch (error) {
    if (!(error instanceof RejectedEntry)) throw error
    return error.diagnostics.map(diagnostic => ({ ...diagnostic, severity: 'warning' }))
  }
}
