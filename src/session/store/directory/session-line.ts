import { parseOwnJson, stringifyJson } from '../../../base/json.ts'
import { type Head, type Transition } from '../../model.ts'
import { type Entry } from '../../session-store.ts'

/** The text before the last field of a line, which is the transition. Left of that field the text never occurs: quotes in JSON strings are escaped. */
const TRANSITION = ',"transition":'

/** The byte of the closing brace at the end of a line. */
const CLOSING = 0x7d

/** The fields of a line in a session's file, without the transition. When the file is opened, the last line gives the session's head (summary) and due time. */
export interface SessionLine {
  readonly head: Head
  /** From when on a replica can take the session over, in ms since 1970; undefined for never. */
  readonly due: number | undefined
  /** When the line was written, by the store's clock, in ms since 1970. */
  readonly written: number
}

/**
 * Formats a line of a session's file, with its line end. The entry's number and seal come first and its transition last, so that a reader can cut
 * out each of them without parsing the line.
 */
export function formatLine ({ seq, text, seal }: Entry, { head, due, written }: SessionLine): string {
  return `${stringifyJson({ seq, seal, written, due, head }).slice(0, -1)}${TRANSITION}${text}}\n`
}

/** Parses a line of a session's file. @throws Error when the text is not such a line */
export function parseLine (bytes: Buffer): SessionLine {
  const { transition, head, due, written } = parseOwnJson(bytes.toString()) as unknown as SessionLine & { readonly transition: Transition }
  if (!Number.isInteger(transition.seq) || head.seq !== transition.seq || !Number.isFinite(written)) throw new Error('it is no line of a session')
  return { head: { ...head, driver: head.driver }, due, written }
}

/** Reads the stored log entry in a line without parsing its transition. @throws Error when the text is not a line of a session's file */
export function entryOfLine (bytes: Buffer): Entry {
  const [, seq, seal = ''] = /^\{"seq":(\d+),"seal":"([\w-]*)",/.exec(bytes.toString('latin1', 0, 128)) ?? []
  const start = bytes.indexOf(TRANSITION)
  if (seq === undefined || start < 0 || bytes.at(-1) !== CLOSING) throw new Error('a line of it is no line of a session')
  return { seq: Number(seq), seal, text: bytes.toString('utf8', start + TRANSITION.length, bytes.length - 1) }
}

/** The number of the transition in a line of a session's file. */
export function seqOfLine (bytes: Buffer): number {
  return Number(/^\{"seq":(\d+),/.exec(bytes.toString('latin1', 0, 32))?.[1])
}
