import { clip } from '../shared/clip.ts'

/** The lengths to which the first line and the whole text of a commit message are cut, in code points. */
const MAX_SUBJECT = 72
const MAX_MESSAGE = 4000

/** Makes a commit message of a text. If its first line is too long, the beginning of the line is the subject, and the whole text follows below. */
export function commitMessage (text: string): string {
  const plain = clip(text.replaceAll('\r\n', '\n').replace(/[^\P{Cc}\n\t]/gu, '').trim(), MAX_MESSAGE)
  const [first = ''] = plain.split('\n', 1)
  const points = Array.from(first)
  const subject = points.length > MAX_SUBJECT ? `${points.slice(0, MAX_SUBJECT - 1).join('')}…` : first
  if (subject === plain) return subject === '' ? 'Change files' : subject
  return subject === first ? `${subject}\n\n${plain.slice(first.length).trim()}` : `${subject}\n\n${plain}`
}
