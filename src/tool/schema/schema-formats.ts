import { type default as Ajv } from 'ajv/dist/core.js'
import { fullFormats } from 'ajv-formats/dist/formats.js'
import { type WorkMeter } from './work-meter.ts'

/**
 * The longest text that a regular expression checks, in UTF-16 units: no address, date or name is longer. Formats
 * checked by functions, such as `uri` and `byte`, take any length.
 */
const MAX_FORMATTED = 4096

/**
 * The part of the regular expression for `url` that matches a user name before the host, which takes quadratic time, and its replacement
 * that takes linear time.
 */
const ANY_USER = '(?:\\S+(?::\\S*)?@)?'
const USER = '(?:[^\\s/]+@)?'

const { source, flags } = fullFormats.url as RegExp
const URL_PATTERN = new RegExp(source.replace(ANY_USER, USER), flags)

type Format = typeof fullFormats[keyof typeof fullFormats]

const FORMATS = Object.entries<Format>({ ...fullFormats, url: URL_PATTERN }).map(([name, format]) => ({ name, format, check: checkOf(format) }))

/** Adds the known formats, such as `date` and `email`, to an ajv. Each check takes time linear to the text's length, which the meter counts as work. */
export function installFormats (ajv: Ajv.default, meter: WorkMeter): void {
  for (const { name, format, check } of FORMATS) {
    ajv.addFormat(name, check === undefined
      ? format
      : text => {
        meter.readText(text.length)
        return check(text)
      })
  }
}

/** The check of a format for texts; `undefined` for formats of numbers, and for formats that accept any text. */
function checkOf (format: Format): ((text: string) => boolean) | undefined {
  if (format instanceof RegExp) return text => text.length <= MAX_FORMATTED && format.test(text)
  if (typeof format === 'function') return format
  return typeof format === 'object' && !('type' in format) ? format.validate as (text: string) => boolean : undefined
}
