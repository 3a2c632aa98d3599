import { MARK } from './shell-lines.ts'

/** A part of what a terminal shows, or a mark in it. */
export type Piece =
  | { readonly kind: 'text', readonly text: string }
  /** A prompt begins; `number` is that of an earlier one when it is only drawn anew. */
  | { readonly kind: 'prompt', readonly number: number, readonly status: number, readonly folder: string }
  /** A prompt has been shown. */
  | { readonly kind: 'shown' }
  /** The shell asks for the secret. */
  | { readonly kind: 'asks' }
  /** The shell ends with a code. */
  | { readonly kind: 'exit', readonly code: number }
  /** A command begins. */
  | { readonly kind: 'begin', readonly id: string }

/** Longer marks are none, in UTF-16 units: they hold one path. */
const MAX_MARK = 8192

/** What a mark may say, and what may end it. */
// eslint-disable-next-line no-control-regex
const REST = /([^\x07\x1b]*)(\x07|\x1b\\|\x1b|$)/y

/**
 * Takes the marks out of what a terminal shows. Only those are read that hold the secret, or begin a command; forged ones are taken out, too. Takes
 * linear time.
 */
export class Marks {
  readonly #secret: string
  #held = ''

  /** @param secret what the prompts of this shell say in their marks */
  constructor (secret: string) {
    this.#secret = secret
  }

  /** The pieces of a text, in order. What may be the beginning of a mark is held back until more comes. */
  read (more: string): Piece[] {
    const pieces: Piece[] = []
    const text = this.#held + more
    this.#held = ''
    let from = 0
    for (let at = text.indexOf(MARK); at >= 0; at = text.indexOf(MARK, from)) {
      addText(pieces, text.slice(from, at))
      REST.lastIndex = at + MARK.length
      const [whole = '', said = '', end = ''] = REST.exec(text) ?? []
      // Not at its end yet, if it ever comes to one.
      if ((end === '' || (end === '\x1b' && REST.lastIndex === text.length)) && whole.length <= MAX_MARK) {
        this.#held = text.slice(at)
        return pieces
      }
      // An escape that does not end it begins something else.
      from = at + MARK.length + whole.length - (end === '\x1b' ? 1 : 0)
      if (end === '\x07' || end === '\x1b\\') pieces.push(...this.#pieceOf(said))
    }
    const until = text.length - overlap(text, from)
    addText(pieces, text.slice(from, until))
    this.#held = text.slice(until)
    return pieces
  }

  #pieceOf (said: string): Piece[] {
    const [head, kind, number = '', status = '', ...folder] = said.split(';')
    if (said === 'k') return [{ kind: 'asks' }]
    if (head === 'b' && kind !== undefined) return [{ kind: 'begin', id: kind }]
    if (head !== this.#secret) return []
    if (kind === 'x') return /^\d{1,3}$/.test(number) ? [{ kind: 'exit', code: Number(number) }] : []
    if (kind === 'e') return [{ kind: 'shown' }]
    return kind === 'p' && /^\d{1,15}$/.test(number) ? [{ kind: 'prompt', number: Number(number), status: Number(status), folder: folder.join(';') }] : []
  }
}

function addText (pieces: Piece[], text: string): void {
  if (text !== '') pieces.push({ kind: 'text', text })
}

/** How many characters at the end of a text may begin a mark. */
function overlap (text: string, from: number): number {
  for (let length = Math.min(MARK.length - 1, text.length - from); length > 0; length--) {
    if (text.endsWith(MARK.slice(0, length))) return length
  }
  return 0
}
