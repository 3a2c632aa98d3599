import { parseOwnJson, stringifyJson } from '../../../base/json.ts'
import { type Head, type Transition } from '../../model.ts'

/** One line of a session's file: a transition, and what restores head and due time when it is the last. */
export interface SessionLine {
  readonly transition: Transition
  readonly head: Head
  /** In ms since 1970; undefined for never. */
  readonly due: number | undefined
  /** When it was written, by the store's clock, in ms since 1970. */
  readonly written: number
}

/** The text of a line, with its end. The number comes first, so that it can be read without the rest. */
export function formatLine ({ transition, head, due, written }: SessionLine): string {
  return `${stringifyJson({ seq: transition.seq, written, due, head, transition })}\n`
}

/** Reads a line. @throws Error when it is none */
export function parseLine (bytes: Buffer): SessionLine {
  const { transition, head, due, written } = parseOwnJson(bytes.toString()) as unknown as SessionLine
  if (!Number.isInteger(transition.seq) || head.seq !== transition.seq || !Number.isFinite(written)) throw new Error('it is no line of a session')
  return { transition, head: { ...head, driver: head.driver }, due, written }
}

/** The number of a line's transition. */
export function seqOfLine (bytes: Buffer): number {
  return Number(/^\{"seq":(\d+),/.exec(bytes.toString('latin1', 0, 32))?.[1])
}
