import { Type } from '../../base/schema-builder.ts'

/** The query parameter for the revision of the prompt that the client expects. */
export const RevisionQuery = Type.Object({
  revision: Type.Optional(Type.String({ minLength: 1, maxLength: 100, description: 'Answer 409 when the prompt is at another revision; replies have it in `x-prompt-revision`' }))
})
