import { revealHidden } from '../base/text.ts'
import { type Lines } from './lines.ts'
import { type Output } from './output.ts'

/** The decision of a person about a proposed command. */
export type CommandChoice =
  /** The command to run, which the person may have edited. */
  | { readonly kind: 'run', readonly command: string }
  | { readonly kind: 'skip' | 'cancel' | 'paste' }

const KEYS: Readonly<Record<string, 'run' | 'edit' | 'skip' | 'cancel' | 'paste'>> = {
  y: 'run',
  yes: 'run',
  да: 'run',
  e: 'edit',
  edit: 'edit',
  s: 'skip',
  skip: 'skip',
  n: 'skip',
  no: 'skip',
  нет: 'skip',
  'skill:skip': 'skip',
  c: 'cancel',
  cancel: 'cancel',
  'skill:cancel': 'cancel',
  p: 'paste',
  paste: 'paste'
}

const WORDS = { run: 'y (run)', edit: 'e (edit)', skip: 's (skip)', cancel: 'c (cancel)', paste: 'p (paste what it printed elsewhere)' } as const

type Offer = keyof typeof WORDS

/**
 * Asks the user what to do with a command that an agent or a skill proposes, until the answer is one of those offered.
 * @param question the text before the list of answers
 * @param offers the answers that are possible
 * @returns `undefined` when the input has ended
 */
export async function chooseCommand (
  command: string,
  question: string,
  offers: readonly Offer[],
  { lines, output }: { readonly lines: Lines, readonly output: Output }
): Promise<CommandChoice | undefined> {
  for (;;) {
    await output.words(`${question} ${offers.map(offer => WORDS[offer]).join(', ')}`)
    const line = await lines.next()
    if (line === undefined) return undefined
    const word = line.trim().toLowerCase()
    const kind = Object.hasOwn(KEYS, word) ? KEYS[word] : undefined
    if (kind === undefined || !offers.includes(kind)) continue
    if (kind === 'run') return { kind, command }
    if (kind !== 'edit') return { kind }
    const edited = await lines.next('$ ', draftOf(command))
    if (edited === undefined) return undefined
    if (edited.trim() !== '') return { kind: 'run', command: edited.trim() }
  }
}

/**
 * The command as the text that the user edits; empty for a command with control or invisible characters: the line editor would take the
 * former for keys, and the user would not see the latter.
 */
function draftOf (command: string): string {
  return revealHidden(command) === command && !/[\n\t]/.test(command) ? command : ''
}
