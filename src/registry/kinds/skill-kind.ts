import { contentHash, type Json, type JsonObject } from '../../base/json.ts'
import { asWarnings, reject, RejectedEntry } from '../diagnostic.ts'
import { decodeTemplate, defineKind, type Definition } from './entry-kind.ts'
import { entrySchema, lintFields } from '../entries/entry-schemas.ts'
import { readSkillOptions, readSkillText, type SkillOptions } from './skill-definition.ts'

const SCHEMA = entrySchema('skill')

/** Front-matter fields without a member here are in `source`. */
export interface SkillDefinition extends Definition {
  /** The last part of the id, when the skill gives itself no usable name. */
  readonly name: string
  readonly description: string
  readonly body: string
  /** As it stands in the SKILL.md; empty for a skill stored as JSON. */
  readonly head: string
  /** Braces are plain text in a body that is no template. */
  readonly isTemplate: boolean
  readonly options: SkillOptions
}

/** Stored under `shenma:skills:*`. */
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

/** Other programs' SKILL.md get warnings. @throws RejectedEntry for wrong JSON, no description or unreadable front matter */
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
  SCHEMA.check(value)
  return { source: value as JsonObject, head: '', diagnostics: lintFields(value, SCHEMA.fields) }
}

function lenient (text: string) {
  const { source, head, problem } = readSkillText(text)
  if (problem !== undefined) throw new RejectedEntry([problem])
  const { description } = source
  if (typeof description !== 'string' || description.trim() === '') {
    throw reject('SCHEMA', 'needs "description", a text', 'say what it does, and when to use it')
  }
  return { source, head, diagnostics: [...asWarnings(SCHEMA.violations(source)), ...lintFields(source, SCHEMA.fields)] }
}
