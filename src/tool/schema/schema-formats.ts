import { type default as Ajv } from 'ajv/dist/core.js'
import { fullFormats } from 'ajv-formats/dist/formats.js'
import { type WorkMeter } from './work-meter.ts'

/** No address, date or name is longer than this; what checks itself, such as `uri` and `byte`, takes any length. */
const MAX_FORMATTED = 4096

/** What `url` lets stand before the host, which it finds in quadratic time, and what does so in linear time: up to the path. */
const ANY_USER = '(?:\\S+(?::\\S*)?@)?'
const USER = '(?:[^\\s/]+@)?'

const { source, flags } = fullFormats.url as RegExp
const URL_PATTERN = new RegExp(source.replace(ANY_USER, USER), flags)

type Format = typeof fullFormats[keyof typeof fullFormats]

const FORMATS = Object.entries<Format>({ ...fullFormats, url: URL_PATTERN }).map(([name, format]) => ({ name, format, check: checkOf(format) }))

/** Makes the formats known to an ajv. All take time linear to the text, which is paid for. */
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

/** How a text is checked; `undefined` for formats of numbers, and for those that any text has. */
function checkOf (format: Format): ((text: string) => boolean) | undefined {
  if (format instanceof RegExp) return text => text.length <= MAX_FORMATTED && format.test(text)
  if (typeof format === 'function') return format
  return typeof format === 'object' && !('type' in format) ? format.validate as (text: string) => boolean : undefined
}
