import { type ServiceError } from '../../base/errors.ts'
import { type JsonObject } from '../../base/json.ts'
import { type TSchema, Type } from '../../base/schema-builder.ts'

/** Whether a path is one of runs of skills: their replies are wrapped in `{ success, data }`, those about definitions of skills are not. */
export function isSkillPath (path: string): boolean {
  return /^\/api\/skills\/(?!definitions(?:[/?]|$))/.test(path)
}

/** An error as clients of skills read it. */
export const SkillErrorReply = Type.Object({
  success: Type.Literal(false),
  error: Type.String({ description: 'What went wrong, in the words of the protocol' }),
  code: Type.String({ description: 'Stable code for programs; docs/errors.md has all of them', examples: ['SESSION_NOT_FOUND'] }),
  requestId: Type.String({ description: 'The x-request-id of this request' }),
  details: Type.Optional(Type.Object({}, { additionalProperties: true, description: 'Facts for programs: near matches, missing parameters, the approval that waits now' }))
}, { $id: 'SkillError', title: 'SkillError' })

/** The messages that the skill protocol prescribes for some errors, by code; elsewhere in the API these errors have other messages. */
const WORDS: Readonly<Record<string, (details: ServiceError['details']) => string>> = {
  SESSION_NOT_FOUND: () => 'Skill session not found',
  TARGET_NOT_FOUND: () => 'Terminal session not found',
  TERMINAL_NOT_FOUND: () => 'Terminal session not found',
  TARGETS_NOT_OFFERED: () => 'No SSH connection available',
  DEFINITION_NOT_FOUND: details => `Skill "${String(details?.['id'])}" not found${reasonOf(details)}`
}

/** The problems for which a registered skill is not offered, as the end of a message. */
function reasonOf (details: ServiceError['details']): string {
  const { problems = [] } = (details ?? {}) as { readonly problems?: readonly string[] }
  return problems.length === 0 ? '' : `: ${problems.join('; ')}`
}

/** The message of an error in the words of the skill protocol. */
export function skillErrorText ({ code, message, details }: ServiceError): string {
  return WORDS[code]?.(details) ?? message
}

/** An error in the envelope of skill replies. */
export function skillErrorBody (error: ServiceError, requestId: string): JsonObject {
  const { code, details } = error
  return { success: false, error: skillErrorText(error), code, requestId, ...(details === undefined ? {} : { details: details as JsonObject }) }
}

/** The data of a successful reply in the envelope of skill replies. */
export function successWith<T> (data: T) {
  return { success: true as const, data }
}

/** The schema of a successful reply of a skill route, in the envelope. */
export function skillReply<S extends TSchema> (data: S) {
  return { 200: Type.Object({ success: Type.Literal(true), data }) }
}

/** The schemas of the replies of a route that continues a skill: 200, and the same with 202 while the skill still runs. */
export function skillTurn<S extends TSchema> (data: S) {
  const success = Type.Object({ success: Type.Literal(true), data })
  return { 200: success, 202: success }
}
