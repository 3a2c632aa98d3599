import { SKILL } from '../../../engine/skill/skill-state.ts'
import { isOf } from '../../../session/engine.ts'
import { type Session } from '../../../session/session.ts'

/** A command to the service itself that the user of a skill can type in place of an answer: `skill:skip` or `skill:cancel`. */
export type TypedWord = 'skip' | 'cancel'

/** Recognises a typed command in a text; `undefined` for an ordinary text. */
export function typedWordIn (text: string): TypedWord | undefined {
  switch (text.trim().toLowerCase()) {
    case 'skill:skip': return 'skip'
    case 'skill:cancel': return 'cancel'
    default: return undefined
  }
}

/** Whether typed commands such as `skill:skip` are recognised in a session: only in skills; elsewhere they are ordinary texts. */
export function takesTypedWords ({ start: { engine } }: Session): boolean {
  return isOf(engine, SKILL)
}
