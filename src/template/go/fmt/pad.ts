import { runeCount } from '../value/bytes.ts'
import { type Flags } from './flags.ts'

/** Counts the work of making a text against the limit of the render, before the text is made. @param characters the text's length */
export type Charge = (characters: number) => void

/** Makes `count` characters of padding, whose cost is counted first. */
export function padding (flags: Readonly<Flags>, count: number, charge: Charge): string {
  if (count <= 0) return ''
  charge(count)
  return (flags.zero && !flags.minus ? '0' : ' ').repeat(count)
}

/** Pads a text to the width of its verb, which counts runes (characters). */
export function pad (flags: Readonly<Flags>, text: string, charge: Charge): string {
  if (flags.width === undefined || flags.width === 0) return text
  const fill = padding(flags, flags.width - runeCount(text), charge)
  return flags.minus ? text + fill : fill + text
}

/** Pads a text with spaces, even if the flag 0 is set. */
export function padWithSpaces (flags: Readonly<Flags>, text: string, charge: Charge): string {
  return pad(flags.zero ? { ...flags, zero: false } : flags, text, charge)
}
