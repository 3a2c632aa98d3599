import { type JsonObject } from '../../base/json.ts'
import { beginningOf } from '../../base/text.ts'
import { type Static, Type } from '../../base/schema-builder.ts'
import { type Generation } from '../../registry/generation/generation.ts'
import { skillKind, type SkillDefinition } from '../../registry/kinds/skill/skill-kind.ts'
import { definitionsOf } from '../../registry/generation/offered.ts'
import { type ForeignSkill, type ForeignSkillList } from '../../service/sessions/offers/foreign-skills.ts'
import { oneOf } from '../base/schemas.ts'

const Source = oneOf(['project', 'remote'], { description: 'Where it stands: in the project of the target, or in the home of its user there' })

/** What is shown of a text for choice, in UTF-16 units, and of the parameters of a skill. */
const MAX_TEXT = 1024
const MAX_PARAMS = 50

/** A skill as it is offered for choice. */
const SkillRow = Type.Object({
  id: Type.String({ description: '`skillId` of a start' }),
  name: Type.String(),
  description: Type.String(),
  params: Type.Array(Type.Object({ name: Type.String(), description: Type.String(), required: Type.Boolean() })),
  path: Type.String({ description: '`skillPath` of a start' }),
  source: Source,
  target: Type.String()
})

/** Skills of a target that nobody has registered. */
export const SkillsOfTarget = Type.Object({
  skills: Type.Array(SkillRow),
  problems: Type.Array(Type.Object({ target: Type.String(), path: Type.Optional(Type.String()), source: Type.Optional(Source), reason: Type.String() }), { description: 'What is not offered, and why' })
})

/** What stands on a target. */
export function describeForeign ({ skills, problems }: ForeignSkillList): Static<typeof SkillsOfTarget> {
  return { skills: skills.map(describeOne), problems: [...problems] }
}

/** All skills of a service in the words of the protocol: those that are registered, and those of a target. */
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
  // Whoever wrote a file of a project has not been held to any schema.
  const params = options.params.slice(0, MAX_PARAMS).map(param => ({ ...param, ...bounded(param) }))
  return { ...bounded({ name, description }), params }
}

function bounded ({ name, description }: { readonly name: string, readonly description: string }) {
  return { name: beginningOf(name, MAX_TEXT), description: beginningOf(description, MAX_TEXT) }
}
