import { runeCount, toBytes } from '../value/bytes.ts'
import { type Flags } from './flags.ts'
import { type Charge, pad, padding } from './pad.ts'
import { canBackquote, quoteText } from './quote.ts'

/** Formats a string by a verb; `undefined` when the verb is not one for strings. */
export function formatText (flags: Readonly<Flags>, text: string, verb: string, charge: Charge): string | undefined {
  switch (verb) {
    case 'v': return flags.sharpV ? quoted(flags, text, charge) : pad(flags, truncate(flags, text), charge)
    case 's': return pad(flags, truncate(flags, text), charge)
    case 'q': return quoted(flags, text, charge)
    case 'x':
    case 'X': return hexadecimal(flags, text, verb, charge)
    default: return undefined
  }
}

function quoted (flags: Readonly<Flags>, text: string, charge: Charge): string {
  const wanted = truncate(flags, text)
  charge((flags.plus ? 6 : 1) * wanted.length)
  if (flags.sharp && canBackquote(wanted)) return pad(flags, `\`${wanted}\``, charge)
  return pad(flags, quoteText(wanted, flags.plus), charge)
}

/** Cuts a text to the precision, which counts runes (characters). */
function truncate ({ precision }: Readonly<Flags>, text: string): string {
  if (precision === undefined || text.length <= precision || runeCount(text) <= precision) return text
  return Array.from(text.slice(0, 2 * precision)).slice(0, precision).join('')
}

/** Writes the bytes of a text as hexadecimal digits. The flag space separates them, and # marks each. */
function hexadecimal (flags: Readonly<Flags>, text: string, verb: 'x' | 'X', charge: Charge): string {
  charge(5 * text.length)
  const all = toBytes(text)
  const bytes = flags.precision === undefined ? all : all.subarray(0, flags.precision)
  const mark = flags.sharp ? `0${verb}` : ''
  const pairs = Array.from(bytes, byte => {
    const pair = byte.toString(16).padStart(2, '0')
    return verb === 'x' ? pair : pair.toUpperCase()
  })
  const digits = pairs.length === 0 ? '' : flags.space ? pairs.map(pair => mark + pair).join(' ') : mark + pairs.join('')
  const fill = padding(flags, (flags.width ?? 0) - digits.length, charge)
  return flags.minus ? digits + fill : fill + digits
}
