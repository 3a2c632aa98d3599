import { type Position } from '../../model.ts'
import { type Append, type Appended } from '../../session-store.ts'

/** The form of a session's id. The id becomes a part of file names and Redis keys. */
const ID = /^[0-9a-f]{32}$/

/** Whether a text is a session's id: 32 hexadecimal digits. */
export function isSessionId (text: string): boolean {
  return ID.test(text)
}

/**
 * Checks that the parts of an append (the write of one entry to a session's log) name the same session and number, so that no writer can leave a
 * gap in the numbers.
 * @throws RangeError which says what is wrong; the caller made a mistake
 */
export function checkAppend ({ id, after, transition: { seq, token }, entry, head }: Append): void {
  if (!isSessionId(id)) throw new RangeError(`expected an id of 32 hexadecimal digits, not ${JSON.stringify(id.slice(0, 40))}`)
  if (seq !== (after?.seq ?? 0) + 1) throw new RangeError(`expected transition ${(after?.seq ?? 0) + 1} of session ${id}, not ${seq}`)
  if (entry.seq !== seq || head.id !== id || head.seq !== seq || head.token !== token) {
    throw new RangeError(`the head of session ${id} is not that of its transition ${seq}`)
  }
}

/** Whether an append follows the last entry of the log, by number and token. Of two concurrent writers, the second one fails here. */
export function isNext ({ after }: Append, top: Position | undefined): boolean {
  return top?.seq === after?.seq && top?.token === after?.token
}

/**
 * Makes the answer to an append that does not follow the log's last entry: 'again' when the log has this very transition already (a retry), else
 * the position of the log's last entry.
 * @param token token of the stored entry with the same number, if any
 */
export function refusal ({ transition }: Append, top: Position | undefined, token: string | undefined): Appended {
  return token === transition.token ? 'again' : { top: top && { seq: top.seq, token: top.token } }
}
