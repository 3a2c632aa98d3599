import { type default as Ajv } from 'ajv/dist/core.js'
import { fullFormats } from 'ajv-formats/dist/formats.js'
import { type WorkMeter } from './work-meter.ts'

/**
 * The greatest length of a text with a format, such as an address, a date or a name. Formats with a function of their own, such as `uri` and `byte`,
 * take any length.
 */
const MAX_FORMATTED = 4096

/** The part of the format `url` before the host. The original finds it in quadratic time; the replacement, up to the path, in linear time. */
const ANY_USER = '(?:\\S+(?::\\S*)?@)?'
const USER = '(?:[^\\s/]+@)?'

const { source, flags } = fullFormats.url as RegExp
const URL_PATTERN = new RegExp(source.replace(ANY_USER, USER), flags)

type Format = typeof fullFormats[keyof typeof fullFormats]

const FORMATS = Object.entries<Format>({ ...fullFormats, url: URL_PATTERN }).map(([name, format]) => ({ name, format, check: checkOf(format) }))

/** Adds the formats to an ajv. All of them take time linear to the text, which is paid for. */
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

/** The function that checks a text for a format; `undefined` for formats of numbers, and for formats that every text has. */
function checkOf (format: Format): ((text: string) => boolean) | undefined {
  if (format instanceof RegExp) return text => text.length <= MAX_FORMATTED && format.test(text)
  if (typeof format === 'function') return format
  return typeof format === 'object' && !('type' in format) ? format.validate as (text: string) => boolean : undefined
}
