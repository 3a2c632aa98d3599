import { Type } from '../../base/schema-builder.ts'

/** The query parameter for the revision (a hash) that the client expects the prompt to have. */
export const RevisionQuery = Type.Object({
  revision: Type.Optional(Type.String({ minLength: 1, maxLength: 100, description: 'Answer 409 when the prompt is at another revision; replies have it in `x-prompt-revision`' }))
})
