import { language, t } from '../../text/text.ts'
import type { Meaning, Releases } from './use-releases.ts'

/** What a label means, in words: `version 7`, or `version 9 for 5 %, version 7 for 95 %`. */
export function meaningInWords (meaning: Meaning | 'latest'): string {
  if (meaning === 'latest') return 'latest'
  return typeof meaning === 'number' ? t.versionOf(meaning) : meaning.map(({ version, weight }) => t.versionShare(version, weight)).join(', ')
}

/** What would become of a label, in a sentence: of what, to what, and of a version that one goes back to when it was made and by whom. */
export function moveInWords (releases: Releases, label: string, from: Meaning | undefined, to: Meaning | 'latest', isBack: boolean): string {
  if (from === undefined) return t.labelIsMade(label, meaningInWords(to))
  const made = typeof to === 'number' ? releases.versions.find(({ n }) => n === to) : undefined
  const words = made === undefined ? meaningInWords(to) : t.versionOfTime(made.n, ago(made.at), made.by)
  return isBack ? t.labelGoesBack(label, meaningInWords(from), words) : t.labelGoesTo(label, meaningInWords(from), words)
}

/** Units of time in seconds, the longest first. */
const UNITS = [['year', 31_536_000], ['month', 2_592_000], ['day', 86_400], ['hour', 3600], ['minute', 60], ['second', 1]] as const
const relative = new Intl.RelativeTimeFormat(language, { numeric: 'auto' })

/** How long ago a time is, in the largest unit that fits: `3 days ago`. */
export function ago (at: string | number): string {
  const elapsed = Math.max(0, Date.now() - new Date(at).getTime()) / 1000
  const [unit, length] = UNITS.find(([, seconds]) => elapsed >= seconds) ?? ['second', 1]
  return relative.format(-Math.floor(elapsed / length), unit)
}
