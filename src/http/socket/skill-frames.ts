import { type JsonObject } from '../../base/json.ts'
import { type Notice, type Transition } from '../../session/model.ts'

type Frames = (data: JsonObject, transition: Transition) => JsonObject[]

/**
 * The frames (WebSocket messages) that a client of skills gets for each type of notice (something that a session tells its users). A type
 * that is missing here gives no frame.
 */
const FRAMES: Partial<Record<Notice['type'], Frames>> = {
  step: ({ step = 0, max = 0 }) => [{ type: 'skill_step', step, max }],
  ask: ({ text = '', required = true }) => [{ type: 'skill_message', text, required }],
  message: ({ text = '', isFinal = false }) => [{ type: isFinal === true ? 'skill_complete' : 'skill_info', text }],
  command: ({ phase, command = '', step = 0, reason = '' }, { held, begun, denied }) => {
    if (phase === 'denied') return [{ type: 'skill_command', command, step, denied: reason }, { type: 'skill_info', text: reason }]
    // For a command that waits for approval, the notice `approval` makes the frame, since it has everything that the person has to see.
    if (phase !== 'proposed' || held.length > 0 || denied.length > 0) return []
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

/** Turns the transitions (recorded steps) of a skill's session, and what its commands print, into WebSocket messages for clients of skills. */
export const skillFrames = {
  of (transition: Transition): JsonObject[] {
    return transition.notices.flatMap(({ type, data }) => FRAMES[type]?.(data, transition) ?? [])
  },
  /** Makes the frames for live output: what a command prints while it runs, or the news that the command has to wait. */
  live ({ type, text = '' }: JsonObject): JsonObject[] {
    if (type === 'command.output') return [{ type: 'skill_output', chunk: text }]
    // The command cannot begin yet: somebody has typed in its terminal, and the command waits until that line is empty.
    return type === 'terminal.waiting' ? [{ type: 'skill_info', text, isWaiting: true }] : []
  }
}
