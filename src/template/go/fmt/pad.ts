import { runeCount } from '../value/bytes.ts'
import { type Flags } from './flags.ts'

/** Called with the length of a text before it is made. */
export type Charge = (characters: number) => void

/** Padding of `count` characters, paid for first. */
export function padding (flags: Readonly<Flags>, count: number, charge: Charge): string {
  if (count <= 0) return ''
  charge(count)
  return (flags.zero && !flags.minus ? '0' : ' ').repeat(count)
}

/** A text brought to the width of its verb, in runes. */
export function pad (flags: Readonly<Flags>, text: string, charge: Charge): string {
  if (flags.width === undefined || flags.width === 0) return text
  const fill = padding(flags, flags.width - runeCount(text), charge)
  return flags.minus ? text + fill : fill + text
}

/** The same with spaces, whatever the flag 0 says. */
export function padWithSpaces (flags: Readonly<Flags>, text: string, charge: Charge): string {
  return pad(flags.zero ? { ...flags, zero: false } : flags, text, charge)
}
