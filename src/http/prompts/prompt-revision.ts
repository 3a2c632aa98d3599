import { type FastifyReply } from 'fastify'
import { type Generation } from '../../registry/generation.ts'
import { Type } from '../../base/schema-builder.ts'
import { lookUpPrompt } from '../../service/render/render-prompt.ts'

/** Which revision of the prompt will do. */
export const RevisionQuery = Type.Object({
  revision: Type.Optional(Type.String({ minLength: 1, maxLength: 100, description: 'Answer 409 when the prompt is at another revision; replies have it in `x-prompt-revision`' }))
})

/** Says in the reply, an error too, at which revision the prompt is, when there is one. */
export function setRevision (reply: FastifyReply, generation: Generation, id: string): void {
  const prompt = lookUpPrompt(generation, id)
  if (prompt !== undefined) reply.header('x-prompt-revision', prompt.revision)
}
