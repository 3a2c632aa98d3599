import { type JsonObject } from '../../base/json.ts'
import { type Notice, type Transition } from '../../session/model.ts'

type Frames = (data: JsonObject, transition: Transition, session: string) => JsonObject[]

/** What each notice is in the frames of the protocol (S-32, S-34); those that are missing are not told. */
const FRAMES: Partial<Record<Notice['type'], Frames>> = {
  step: ({ step = 0, max = 0 }) => [{ type: 'skill_step', step, max }],
  ask: ({ text = '', required = true }) => [{ type: 'skill_message', text, required }],
  message: ({ text = '', isFinal = false }) => [{ type: isFinal === true ? 'skill_complete' : 'skill_info', text }],
  command: ({ phase, command = '', step = 0 }, { held, begun }, session) => {
    if (phase !== 'proposed') return []
    const asked = held.find(({ effect }) => effect.kind === 'exec')
    const isManual = begun.some(({ kind }) => kind === 'wait')
    return [{ type: 'skill_command', command, step, ...(isManual ? { manual: true } : asked === undefined ? {} : { approvalId: `${session}:${asked.effect.id}`, rule: asked.rule }) }]
  },
  // A person has let another command run than the one that was proposed.
  approval: ({ decision, command }) => decision === 'approve' && command !== undefined ? [{ type: 'skill_command', command, edited: true }] : [],
  error: ({ code = '', message = '' }) => [{ type: 'skill_error', error: message, code }],
  done: ({ status = '' }) => [...status === 'cancelled' ? [{ type: 'skill_complete', text: 'Cancelled by user' }] : [], { type: 'skill_end', status }]
}

/** A skill's session in the frames of the protocol. */
export const skillFrames = {
  of (session: string, transition: Transition): JsonObject[] {
    return transition.notices.flatMap(({ type, data }) => FRAMES[type]?.(data, transition, session) ?? [])
  },
  /** Of what is said live. */
  live ({ type, text = '' }: JsonObject): JsonObject[] {
    return type === 'command.output' ? [{ type: 'skill_output', chunk: text }] : []
  }
}
