import { exactTime, shortTime, wholeTime } from './time.ts'

/** Shows a time in a short form. Its title has the full date and time. */
export function When ({ at, exact = false }: { readonly at: string | number, readonly exact?: boolean }) {
  return <time dateTime={new Date(at).toISOString()} title={wholeTime(at)} className='num'>{exact ? exactTime(at) : shortTime(at)}</time>
}
