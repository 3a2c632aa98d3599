import { type ServiceError } from '../../base/errors.ts'
import { type JsonObject } from '../../base/json.ts'
import { type TSchema, Type } from '../../base/schema-builder.ts'

/**
 * Whether a path belongs to the routes that run skills, whose replies are wrapped in `{ success, data }`. The routes below
 * `/api/skills/definitions`, which read the definitions of skills, do not belong to them.
 */
export function isSkillPath (path: string): boolean {
  return /^\/api\/skills\/(?!definitions(?:[/?]|$))/.test(path)
}

/** The schema of an error of the routes that run skills. */
export const SkillErrorReply = Type.Object({
  success: Type.Literal(false),
  error: Type.String({ description: 'What went wrong, in the words of the protocol' }),
  code: Type.String({ description: 'Stable code for programs; docs/errors.md has all of them', examples: ['SESSION_NOT_FOUND'] }),
  requestId: Type.String({ description: 'The x-request-id of this request' }),
  details: Type.Optional(Type.Object({}, { additionalProperties: true, description: 'Facts for programs: near matches, missing parameters, the approval that waits now' }))
}, { $id: 'SkillError', title: 'SkillError' })

/**
 * The messages of some errors, by code, that clients of the routes that run skills expect. The rest of the API has other messages for these
 * errors.
 */
const WORDS: Readonly<Record<string, (details: ServiceError['details']) => string>> = {
  SESSION_NOT_FOUND: () => 'Skill session not found',
  TARGET_NOT_FOUND: () => 'Terminal session not found',
  TERMINAL_NOT_FOUND: () => 'Terminal session not found',
  TARGETS_NOT_OFFERED: () => 'No SSH connection available',
  DEFINITION_NOT_FOUND: details => `Skill "${String(details?.['id'])}" not found${reasonOf(details)}`
}

/** The reasons why a skill cannot be used although it is registered, as the end of a message. */
function reasonOf (details: ServiceError['details']): string {
  const { problems = [] } = (details ?? {}) as { readonly problems?: readonly string[] }
  return problems.length === 0 ? '' : `: ${problems.join('; ')}`
}

/** The message of an error as clients of the routes that run skills expect it. */
export function skillErrorText ({ code, message, details }: ServiceError): string {
  return WORDS[code]?.(details) ?? message
}

/** An error as the body of a reply of the routes that run skills. */
export function skillErrorBody (error: ServiceError, requestId: string): JsonObject {
  const { code, details } = error
  return { success: false, error: skillErrorText(error), code, requestId, ...(details === undefined ? {} : { details: details as JsonObject }) }
}

/** Makes the body of a successful reply, as the routes that run skills have it: with the data in the member `data`. */
export function successWith<T> (data: T) {
  return { success: true as const, data }
}

/** Makes the schema of a successful reply of a route that runs a skill. @param data the schema of the data in that reply */
export function skillReply<S extends TSchema> (data: S) {
  return { 200: Type.Object({ success: Type.Literal(true), data }) }
}

/** Makes the reply schemas of a route that continues a skill: for 200, and for 202, which says that the skill still runs. */
export function skillTurn<S extends TSchema> (data: S) {
  const success = Type.Object({ success: Type.Literal(true), data })
  return { 200: success, 202: success }
}
