import { useState } from 'react'
import { t } from '../text/text.ts'

/** A button that copies a text unchanged, and says for 2 s whether this has worked. */
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
