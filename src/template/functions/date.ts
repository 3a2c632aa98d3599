import { NOTHING, type Value } from '../value.ts'
import { kindOf, textArgument } from './arguments.ts'
import { chargeText } from './cost.ts'
import { type FunctionContext, FunctionError, type TemplateFunction } from './function.ts'

const MONTHS = ['January', 'February', 'March', 'April', 'May', 'June', 'July', 'August', 'September', 'October', 'November', 'December']
const DAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday']

/** The tokens of a date format, each with the function that gives its text. Longer tokens come first, so that `MMMM` is not read as twice `MM`. */
const TOKENS: ReadonlyMap<string, (date: Date) => string> = new Map([
  ['YYYY', date => String(date.getUTCFullYear()).padStart(4, '0')],
  ['MMMM', date => MONTHS[date.getUTCMonth()] as string],
  ['MMM', date => (MONTHS[date.getUTCMonth()] as string).slice(0, 3)],
  ['MM', date => twoDigits(date.getUTCMonth() + 1)],
  ['DD', date => twoDigits(date.getUTCDate())],
  ['dddd', date => DAYS[date.getUTCDay()] as string],
  ['ddd', date => (DAYS[date.getUTCDay()] as string).slice(0, 3)],
  ['HH', date => twoDigits(date.getUTCHours())],
  ['mm', date => twoDigits(date.getUTCMinutes())],
  ['ss', date => twoDigits(date.getUTCSeconds())],
  ['SSS', date => String(date.getUTCMilliseconds()).padStart(3, '0')]
])

const TOKEN = new RegExp([...TOKENS.keys()].join('|'), 'g')

/** Matches a token of a date format, or a text in brackets, which is printed as it is: `[at] HH:mm`. */
const TOKEN_OR_LITERAL = new RegExp(`\\[([^\\]]*)\\]|${TOKEN.source}`, 'g')

/** The cost of formatting one date, in visits (units of a render's work). A format is parsed anew each time. */
const VISITS_PER_DATE = 40

/** Matches ISO 8601 as JSON documents have it. A time without a time zone is read as UTC here, unlike in JavaScript. */
const ISO = /^(\d{4}-\d{2}-(\d{2}))(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(Z|[+-]\d{2}:?\d{2})?)?$/

const date: TemplateFunction = {
  name: 'date',
  parameters: 'format value?',
  summary: 'A time in UTC; the value is an ISO 8601 text or milliseconds since 1970, else the time of the render. ' +
    'The format may hold `YYYY`, `MMMM` (January), `MMM` (Jan), `MM`, `DD`, `dddd` (Sunday), `ddd` (Sun), `HH`, `mm`, `ss`, `SSS`; text in `[brackets]` stands for itself.',
  example: {
    go: '{{ .variables.changed | date "YYYY-MM-DD [at] HH:mm" }}',
    handlebars: '{{date "YYYY-MM-DD [at] HH:mm" variables.changed}}',
    variables: { changed: '2026-02-03T10:20:30+01:00' },
    output: '2026-02-03 at 09:20'
  },
  arity: { least: 1, most: 2 },
  apply: (args, context) => {
    const format = textArgument(args[0], 'format', context)
    if (args.length === 2 && (args[1] === NOTHING || args[1] === null)) return ''
    const time = args.length === 1 ? context.now() : timeOf(args[1] as Value, context)
    context.charge(VISITS_PER_DATE)
    // The text of the longest token, `September` for `MMMM`, is about twice as long as the token.
    chargeText(format.length * 2, context)
    return formatted(time, format)
  }
}

/** The functions of templates that work with time. */
export const DATE_FUNCTIONS: readonly TemplateFunction[] = [date]

function formatted (time: Date, format: string): string {
  const textOf = (token: string): string => (TOKENS.get(token) as (date: Date) => string)(time)
  // The format is split after its last closing bracket, because looking for one after every opening bracket would take quadratic time.
  const end = format.lastIndexOf(']') + 1
  return (
    format.slice(0, end).replace(TOKEN_OR_LITERAL, (token, literal: string | undefined) => literal ?? textOf(token)) +
    format.slice(end).replace(TOKEN, textOf)
  )
}

function timeOf (value: Value, context: FunctionContext): Date {
  if (typeof value === 'string') chargeText(value.length, context)
  const time = typeof value === 'string' ? parseIso(value) : new Date(typeof value === 'number' ? value : NaN)
  if (!Number.isNaN(time.getTime())) return time
  const got = typeof value === 'string' ? JSON.stringify(value.slice(0, 40)) : typeof value === 'number' ? String(value) : kindOf(value)
  throw new FunctionError(`value must be an ISO 8601 time or milliseconds since 1970, not ${got}`)
}

function parseIso (text: string): Date {
  const match = ISO.exec(text.trim())
  if (match === null) return new Date(NaN)
  const [whole, day = '', dayOfMonth, zone] = match
  // JavaScript would take the 30th of February for the 2nd of March.
  if (new Date(day).getUTCDate() !== Number(dayOfMonth)) return new Date(NaN)
  const standard = whole.replace(' ', 'T')
  const hasZone = zone !== undefined || standard === day
  return new Date(hasZone ? standard : `${standard}Z`)
}

function twoDigits (number: number): string {
  return String(number).padStart(2, '0')
}
