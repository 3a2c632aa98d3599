import { type FastifyReply, type FastifyRequest } from 'fastify'
import { ServiceError } from '../../base/errors.ts'
import { Type } from '../../base/schema-builder.ts'
import { LABEL_PATTERN } from '../../registry/kinds/release/release-record.ts'
import { type ChoosePrompt, type ChosenPrompt, type PromptWish } from '../../service/versions/choose-prompt.ts'

/** The query parameters that choose a version of a prompt. */
export const WishQuery = Type.Object({
  label: Type.Optional(Type.String({ pattern: LABEL_PATTERN, description: 'The version that this label means, such as production; `latest` is what was published last. The same as `@production` behind the id' })),
  version: Type.Optional(Type.Integer({ minimum: 1, maximum: 1e15 - 1, description: 'This version; the same as `@7` behind the id' }))
})

/**
 * The query parameters of a render or a chat that choose the version of the prompt. A label can be divided among several versions; `key` then
 * decides which of them is used.
 */
export const ChoiceQuery = Type.Object({
  ...WishQuery.properties,
  key: Type.Optional(Type.String({ minLength: 1, maxLength: 512, description: 'Where a label has several versions, the same key always gets the same one; left out, `user` or `safety_identifier` of the body, else chance' }))
})

/**
 * Chooses the version of the prompt for a request, and names it in headers of the reply, also when the reply is an error.
 * @param id the id as the request writes it
 * @throws what `ChoosePrompt` throws
 */
export async function choose (
  choosePrompt: ChoosePrompt,
  { generation, caller, body }: FastifyRequest,
  reply: FastifyReply,
  id: string,
  wish: PromptWish
): Promise<ChosenPrompt> {
  const { label, version, key = keyOf(body) } = wish
  const found = choosePrompt(generation, caller, id, { label, version, key })
  const chosen = found instanceof Promise ? await found : found
  reply.header('x-prompt-revision', chosen.prompt.revision)
  if (chosen.version !== undefined) reply.header('x-prompt-version', chosen.version)
  if (chosen.label !== undefined) reply.header('x-prompt-label', chosen.label)
  return chosen
}

/** Chooses the version of the prompt for a render; a failed choice is counted as a failed render. @throws what `ChoosePrompt` throws */
export async function chooseToRender (
  choosePrompt: ChoosePrompt,
  request: FastifyRequest,
  reply: FastifyReply,
  id: string,
  wish: PromptWish
): Promise<ChosenPrompt> {
  try {
    return await choose(choosePrompt, request, reply, id, wish)
  } catch (error) {
    if (error instanceof ServiceError) request.activity.beginRender(id, undefined).ended(error.code)
    throw error
  }
}

/**
 * The end user for whom a request is made, from the fields that OpenAI's clients send; `undefined` if the request names none. The same user
 * always gets the same version of a prompt.
 */
function keyOf (body: unknown): string | undefined {
  if (typeof body !== 'object' || body === null) return undefined
  for (const name of ['user', 'safety_identifier']) {
    const value = Object.hasOwn(body, name) ? (body as Record<string, unknown>)[name] : undefined
    if (typeof value === 'string' && value !== '') return value
  }
  return undefined
}
