import { type JsonObject } from '../../base/json.ts'
import { type Notice, type Transition } from '../../session/model.ts'

type Frames = (data: JsonObject, transition: Transition) => JsonObject[]

/**
 * The frames that clients of skills get for each type of notice (something that a session tells its users). For other types of notices they
 * get none.
 */
const FRAMES: Partial<Record<Notice['type'], Frames>> = {
  step: ({ step = 0, max = 0 }) => [{ type: 'skill_step', step, max }],
  ask: ({ text = '', required = true }) => [{ type: 'skill_message', text, required }],
  message: ({ text = '', isFinal = false }) => [{ type: isFinal === true ? 'skill_complete' : 'skill_info', text }],
  command: ({ phase, command = '', step = 0 }, { held, begun }) => {
    // A command that waits for approval is sent by the notice `approval`, which has everything that the person has to see.
    if (phase !== 'proposed' || held.length > 0) return []
    return [{ type: 'skill_command', command, step, ...(begun.some(({ kind }) => kind === 'wait') ? { manual: true } : {}) }]
  },
  approval: (data, { notices }) => {
    // The person who approved has replaced the command by another one.
    if (data['decision'] === 'approve' && data['command'] !== undefined) return [{ type: 'skill_command', command: data['command'], edited: true }]
    if (data['kind'] !== 'exec') return []
    const { effect: _effect, kind: _kind, id = '', ...shown } = data
    const step = notices.find(({ type }) => type === 'command')?.data['step'] ?? 0
    return [{ type: 'skill_command', step, approvalId: id, ...shown }]
  },
  error: ({ code = '', message = '' }) => [{ type: 'skill_error', error: message, code }],
  done: ({ status = '' }) => [...status === 'cancelled' ? [{ type: 'skill_complete', text: 'Cancelled by user' }] : [], { type: 'skill_end', status }]
}

/** Turns the transitions and the live output of a skill's session into frames of the skills' protocol. */
export const skillFrames = {
  of (transition: Transition): JsonObject[] {
    return transition.notices.flatMap(({ type, data }) => FRAMES[type]?.(data, transition) ?? [])
  },
  /** The frames for a piece of live output. */
  live ({ type, text = '' }: JsonObject): JsonObject[] {
    if (type === 'command.output') return [{ type: 'skill_output', chunk: text }]
    // The command waits until the line of its terminal is empty.
    return type === 'terminal.waiting' ? [{ type: 'skill_info', text, isWaiting: true }] : []
  }
}
