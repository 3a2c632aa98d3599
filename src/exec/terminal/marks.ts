import { MARK } from './shell-lines.ts'

/** A piece of a terminal's output: text, or a mark (an escape sequence by which the shell reports its state). */
export type Piece =
  | { readonly kind: 'text', readonly text: string }
  /** A prompt begins. A prompt that is only redrawn has the `number` of an earlier one. */
  | { readonly kind: 'prompt', readonly number: number, readonly status: number }
  /** A prompt has been shown. */
  | { readonly kind: 'shown' }
  /** The shell asks for its secret, a random text. The shell's later marks contain the secret, which shows that they are genuine. */
  | { readonly kind: 'asks' }
  /** The shell ends with a code. */
  | { readonly kind: 'exit', readonly code: number }
  /** A command begins. */
  | { readonly kind: 'begin', readonly id: string }

/** The most of an incomplete mark (a report of the shell) that is kept until its rest comes, in UTF-16 units. */
const MAX_MARK = 256

/** Matches the rest of a mark after its first characters (`MARK`): its content, and the sequence that ends it. */
// eslint-disable-next-line no-control-regex
const REST = /([^\x07\x1b]*)(\x07|\x1b\\|\x1b|$)/y

/**
 * Removes the marks (escape sequences by which the shell reports its state) from a terminal's output, and parses them, in linear time. A mark
 * without the secret (a random text that the service has given to the shell) is forged: it is removed and ignored. Only two marks need no
 * secret: the one that asks for the secret, and the one with which a command begins.
 */
export class Marks {
  readonly #secret: string
  #held = ''

  /** @param secret the secret that the marks of this shell contain */
  constructor (secret: string) {
    this.#secret = secret
  }

  /** Splits further output into pieces, in order. If the output ends with a text that can be an incomplete mark, that text is kept for the next call. */
  read (more: string): Piece[] {
    const pieces: Piece[] = []
    const text = this.#held + more
    this.#held = ''
    let from = 0
    for (let at = text.indexOf(MARK); at >= 0; at = text.indexOf(MARK, from)) {
      addText(pieces, text.slice(from, at))
      REST.lastIndex = at + MARK.length
      const [whole = '', said = '', end = ''] = REST.exec(text) ?? []
      // The mark is not complete yet: it waits for more output.
      if ((end === '' || (end === '\x1b' && REST.lastIndex === text.length)) && whole.length <= MAX_MARK) {
        this.#held = text.slice(at)
        return pieces
      }
      // An escape character that is not the end of this mark begins another sequence.
      from = at + MARK.length + whole.length - (end === '\x1b' ? 1 : 0)
      if (end === '\x07' || end === '\x1b\\') pieces.push(...this.#pieceOf(said))
    }
    const until = text.length - overlap(text, from)
    addText(pieces, text.slice(from, until))
    this.#held = text.slice(until)
    return pieces
  }

  #pieceOf (said: string): Piece[] {
    const [head, kind, number = '', status = ''] = said.split(';', 5)
    if (said === 'k') return [{ kind: 'asks' }]
    if (head === 'b' && kind !== undefined) return [{ kind: 'begin', id: kind }]
    if (head !== this.#secret) return []
    if (kind === 'x') return /^\d{1,3}$/.test(number) ? [{ kind: 'exit', code: Number(number) }] : []
    if (kind === 'e') return [{ kind: 'shown' }]
    return kind === 'p' && /^\d{1,15}$/.test(number) ? [{ kind: 'prompt', number: Number(number), status: Number(status) }] : []
  }
}

function addText (pieces: Piece[], text: string): void {
  if (text !== '') pieces.push({ kind: 'text', text })
}

/** Counts the characters at the end of a text that can be the beginning of a mark. */
function overlap (text: string, from: number): number {
  for (let length = Math.min(MARK.length - 1, text.length - from); length > 0; length--) {
    if (text.endsWith(MARK.slice(0, length))) return length
  }
  return 0
}
