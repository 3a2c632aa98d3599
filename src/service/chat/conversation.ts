import { requestInvalid } from '../../base/errors.ts'
import { type JsonObject } from '../../base/json.ts'

/** Roles of the messages that a caller may add to a prompt's own. `system` is not among them: a caller must not add instructions. */
const ROLES: ReadonlySet<unknown> = new Set(['user', 'assistant', 'tool'])

/**
 * Checks the roles of the messages that a caller adds to a prompt's own messages.
 * @throws REQUEST_INVALID that names the first message with another role
 */
export function checkConversation (messages: readonly JsonObject[]): readonly JsonObject[] {
  const index = messages.findIndex(message => !ROLES.has(message['role']))
  if (index === -1) return messages
  const field = `messages.${index}.role`
  throw requestInvalid(`body: ${field} must be "user" or "assistant" or "tool": the prompt's publisher writes the others`, { part: 'body', field })
}
