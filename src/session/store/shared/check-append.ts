import { type Position } from '../../model.ts'
import { type Append, type Appended } from '../../session-store.ts'

/** What an id looks like; it becomes part of the names of files and keys. */
const ID = /^[0-9a-f]{32}$/

/** Whether a text is a session's id: 32 hexadecimal digits. */
export function isSessionId (text: string): boolean {
  return ID.test(text)
}

/**
 * Makes sure that an append makes sense by itself, so that no writer can leave a gap.
 * @throws RangeError which says what does not fit; the fault is the caller's
 */
export function checkAppend ({ id, after, transition: { seq, token }, entry, head }: Append): void {
  if (!isSessionId(id)) throw new RangeError(`expected an id of 32 hexadecimal digits, not ${JSON.stringify(id.slice(0, 40))}`)
  if (seq !== (after?.seq ?? 0) + 1) throw new RangeError(`expected transition ${(after?.seq ?? 0) + 1} of session ${id}, not ${seq}`)
  if (entry.seq !== seq || head.id !== id || head.seq !== seq || head.token !== token) {
    throw new RangeError(`the head of session ${id} is not that of its transition ${seq}`)
  }
}

/** The fence: whether an append follows the last transition that is there, by number and token. */
export function isNext ({ after }: Append, top: Position | undefined): boolean {
  return top?.seq === after?.seq && top?.token === after?.token
}

/** What an append is answered that does not follow. @param token of the transition that has its number */
export function refusal ({ transition }: Append, top: Position | undefined, token: string | undefined): Appended {
  return token === transition.token ? 'again' : { top: top && { seq: top.seq, token: top.token } }
}
