import { parseOwnJson, stringifyJson } from '../../../base/json.ts'
import { type Head, type Transition } from '../../model.ts'
import { type Entry } from '../../session-store.ts'

/** Where a line's transition begins, its last field: inside of a text, the quotes would be escaped. */
const TRANSITION = ',"transition":'

/** The brace at the end of a line. */
const CLOSING = 0x7d

/** One line of a session's file: a transition, and what restores head and due time when it is the last. */
export interface SessionLine {
  readonly head: Head
  /** In ms since 1970; undefined for never. */
  readonly due: number | undefined
  /** When it was written, by the store's clock, in ms since 1970. */
  readonly written: number
}

/** The text of a line, with its end. What comes first and last can be read without the rest. */
export function formatLine ({ seq, text, seal }: Entry, { head, due, written }: SessionLine): string {
  return `${stringifyJson({ seq, seal, written, due, head }).slice(0, -1)}${TRANSITION}${text}}\n`
}

/** Reads a line. @throws Error when it is none */
export function parseLine (bytes: Buffer): SessionLine {
  const { transition, head, due, written } = parseOwnJson(bytes.toString()) as unknown as SessionLine & { readonly transition: Transition }
  if (!Number.isInteger(transition.seq) || head.seq !== transition.seq || !Number.isFinite(written)) throw new Error('it is no line of a session')
  return { head: { ...head, driver: head.driver }, due, written }
}

/** What a line keeps of its transition, which is not parsed. @throws Error when there is none */
export function entryOfLine (bytes: Buffer): Entry {
  const [, seq, seal = ''] = /^\{"seq":(\d+),"seal":"([\w-]*)",/.exec(bytes.toString('latin1', 0, 128)) ?? []
  const start = bytes.indexOf(TRANSITION)
  if (seq === undefined || start < 0 || bytes.at(-1) !== CLOSING) throw new Error('a line of it is no line of a session')
  return { seq: Number(seq), seal, text: bytes.toString('utf8', start + TRANSITION.length, bytes.length - 1) }
}

/** The number of a line's transition. */
export function seqOfLine (bytes: Buffer): number {
  return Number(/^\{"seq":(\d+),/.exec(bytes.toString('latin1', 0, 32))?.[1])
}
