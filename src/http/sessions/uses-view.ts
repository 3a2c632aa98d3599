import { Type } from '../../base/schema-builder.ts'
import { type Generation } from '../../registry/generation/generation.ts'
import { type Use } from '../../service/sessions/reading/uses.ts'
import { type Start } from '../../session/model.ts'

/** The schema of the uses of a session: how often it has asked models, called tools and run commands. */
export const UsesReply = Type.Object({
  definition: Type.String({ description: 'What it runs, as `agents/helper`' }),
  revision: Type.String({ description: 'Of the definition that it began with' }),
  current: Type.Optional(Type.String({ description: 'Of the definition as it is registered now; left out for one that is not' })),
  uses: Type.Array(Type.Object({
    kind: Type.String({ description: '`llm`, `tool`, `exec`, `check`, `read`, `apply`, `commit` or `remember`' }),
    name: Type.String({ description: 'What a model was asked for; the tool, the check, the target or the workspace' }),
    calls: Type.Integer(),
    failures: Type.Integer({ description: 'Of the calls; a command with another exit code than 0, and a check that does not pass, too' }),
    tokens: Type.Integer({ description: 'Of models, in and out' })
  }))
})

/** Describes what a session has used. @param generation the entries (as they are now) that the caller may see */
export function describeUses ({ definition, revision }: Pick<Start, 'definition' | 'revision'>, { definitions }: Generation, uses: readonly Use[]) {
  const end = definition.indexOf('/')
  const current = definitions.get(definition.slice(0, end))?.get(definition.slice(end + 1))?.hash
  return { definition, revision, ...(current === undefined ? {} : { current }), uses: uses.map(use => ({ ...use })) }
}
