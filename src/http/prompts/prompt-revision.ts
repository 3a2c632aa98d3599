import { Type } from '../../base/schema-builder.ts'

/** Which revision of the prompt will do. */
export const RevisionQuery = Type.Object({
  revision: Type.Optional(Type.String({ minLength: 1, maxLength: 100, description: 'Answer 409 when the prompt is at another revision; replies have it in `x-prompt-revision`' }))
})
