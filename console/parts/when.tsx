import { exactTime, shortTime, wholeTime } from './time.ts'

/** A time, short; the whole of it is in its title. */
export function When ({ at, exact = false }: { readonly at: string | number, readonly exact?: boolean }) {
  return <time dateTime={new Date(at).toISOString()} title={wholeTime(at)} className='num'>{exact ? exactTime(at) : shortTime(at)}</time>
}
