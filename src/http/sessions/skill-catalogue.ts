import { type JsonObject } from '../../base/json.ts'
import { beginningOf } from '../../base/text.ts'
import { type Static, Type } from '../../base/schema-builder.ts'
import { type Generation } from '../../registry/generation/generation.ts'
import { skillKind, type SkillDefinition } from '../../registry/kinds/skill/skill-kind.ts'
import { definitionsOf } from '../../registry/generation/offered.ts'
import { type ForeignSkill, type ForeignSkillList } from '../../service/sessions/offers/foreign-skills.ts'
import { oneOf } from '../base/schemas.ts'

const Source = oneOf(['project', 'remote'], { description: 'Where it stands: in the project of the target, or in the home of its user there' })

/** The longest text in a list of skills, in UTF-16 units, and the most parameters of one skill there. */
const MAX_TEXT = 1024
const MAX_PARAMS = 50

/** The schema of a skill in a list. */
const SkillRow = Type.Object({
  id: Type.String({ description: '`skillId` of a start' }),
  name: Type.String(),
  description: Type.String(),
  params: Type.Array(Type.Object({ name: Type.String(), description: Type.String(), required: Type.Boolean() })),
  path: Type.String({ description: '`skillPath` of a start' }),
  source: Source,
  target: Type.String()
})

/** The schema of the skills that were found as files on a target (a machine), rather than registered. */
export const SkillsOfTarget = Type.Object({
  skills: Type.Array(SkillRow),
  problems: Type.Array(Type.Object({ target: Type.String(), path: Type.Optional(Type.String()), source: Type.Optional(Source), reason: Type.String() }), { description: 'What is not offered, and why' })
})

/** Describes the skills found on a target, and the problems of those that cannot be used. */
export function describeForeign ({ skills, problems }: ForeignSkillList): Static<typeof SkillsOfTarget> {
  return { skills: skills.map(describeOne), problems: [...problems] }
}

/** Lists all skills as clients of skills expect them: the registered skills, and those found on a target (a machine). */
export function catalogueOf (generation: Generation, foreign: ForeignSkillList): JsonObject {
  const all = definitionsOf(generation, skillKind).values()
  const registered = Array.from(all, skill => ({ ...wordsOf(skill), id: skill.id, path: skill.id, source: 'project' }))
  const { skills, problems } = describeForeign(foreign)
  return { skills: [...registered, ...skills], problems }
}

function describeOne ({ target, place: { name, path, source }, skill }: ForeignSkill): Static<typeof SkillRow> {
  return { ...wordsOf(skill), id: name, path, source, target }
}

function wordsOf ({ name, description, options }: SkillDefinition) {
  // A skill in a file of a project was never checked against a schema, so its size is bounded here.
  const params = options.params.slice(0, MAX_PARAMS).map(param => ({ ...param, ...bounded(param) }))
  return { ...bounded({ name, description }), params }
}

function bounded ({ name, description }: { readonly name: string, readonly description: string }) {
  return { name: beginningOf(name, MAX_TEXT), description: beginningOf(description, MAX_TEXT) }
}
