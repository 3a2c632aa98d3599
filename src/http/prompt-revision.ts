import { type FastifyReply } from 'fastify'
import { Type } from 'typebox'
import { type Generation } from '../registry/generation.ts'
import { findPrompt } from '../service/render-prompt.ts'

/** Which revision of the prompt will do. */
export const RevisionQuery = Type.Object({
  revision: Type.Optional(Type.String({ minLength: 1, maxLength: 100, description: 'Answer 409 when the prompt is at another revision; replies have it in `x-prompt-revision`' }))
})

/** Says in the reply, an error too, at which revision the prompt is. @throws PROMPT_NOT_FOUND */
export function tellRevision (reply: FastifyReply, generation: Generation, id: string): void {
  reply.header('x-prompt-revision', findPrompt(generation, id).revision)
}
