import { useState } from 'react'
import { t } from '../text/text.ts'

/** Copies a text as it is, and says so for a moment. */
export function CopyButton ({ text, label = t.copy, className = 'button plain small' }: {
  readonly text: string | (() => string)
  readonly label?: string
  readonly className?: string
}) {
  const [said, say] = useState('')
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(typeof text === 'string' ? text : text())
      say(t.copied)
    } catch {
      say(t.notCopied)
    }
    setTimeout(() => { say('') }, 2000)
  }
  return <button type='button' className={className} onClick={() => { void copy() }}><span aria-live='polite'>{said === '' ? label : said}</span></button>
}
