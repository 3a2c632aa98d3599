import { language, t } from '../text/text.ts'

const LOCALE = language === 'ru' ? 'ru-RU' : 'en-GB'
const clock = new Intl.DateTimeFormat(LOCALE, { hour: '2-digit', minute: '2-digit' })
const seconds = new Intl.DateTimeFormat(LOCALE, { hour: '2-digit', minute: '2-digit', second: '2-digit' })
const day = new Intl.DateTimeFormat(LOCALE, { day: 'numeric', month: 'short' })
const whole = new Intl.DateTimeFormat(LOCALE, { dateStyle: 'medium', timeStyle: 'medium' })
const units = new Intl.NumberFormat(LOCALE, { maximumFractionDigits: 1 })

/** A time in its shortest form: `10:14` for a time of today, `19 Nov` for any other. */
export function shortTime (at: string | number): string {
  const date = new Date(at)
  return date.toDateString() === new Date().toDateString() ? clock.format(date) : day.format(date)
}

/** A time with seconds: `10:02:11` for a time of today, `19 Nov 10:02:11` for any other. */
export function exactTime (at: string | number): string {
  const date = new Date(at)
  return date.toDateString() === new Date().toDateString() ? seconds.format(date) : `${day.format(date)} ${seconds.format(date)}`
}

export function wholeTime (at: string | number): string {
  return whole.format(new Date(at))
}

/** A duration with its unit in the language of the console: `20 ms`, `7.4 s`. */
export function duration (milliseconds: number): string {
  return milliseconds < 1000 ? `${units.format(Math.round(milliseconds))} ${t.ms}` : `${units.format(milliseconds / 1000)} ${t.s}`
}

/** A size with its unit: `1.2 KB`. */
export function bytes (count: number): string {
  return count < 1000 ? `${count} B` : count < 1_000_000 ? `${units.format(count / 1000)} KB` : `${units.format(count / 1_000_000)} MB`
}

export function number (value: number): string {
  return units.format(value)
}
