import { SKILL } from '../../../engine/skill/skill-state.ts'
import { type Session } from '../../../session/session.ts'

/** What a user of a skill may type wherever words are taken. */
export type TypedWord = 'skip' | 'cancel'

/** The word that a text is, if it is one. */
export function typedWordIn (text: string): TypedWord | undefined {
  switch (text.trim().toLowerCase()) {
    case 'skill:skip': return 'skip'
    case 'skill:cancel': return 'cancel'
    default: return undefined
  }
}

/** Whether such words mean something in a session: in others they are words as any. */
export function takesTypedWords ({ start: { engine } }: Session): boolean {
  return engine === SKILL.name
}
