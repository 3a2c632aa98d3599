import { useState } from 'react'
import { keep, session } from './storage.ts'

/** The beginning of the names under which the browser stores what was typed into a field and not sent yet, for this tab. */
const KEY = 'prompt-shell.typed.'

/** Keeps the text of a field in this tab, so that it is there again after the page was loaded anew. @param name of the field on this page */
export function useKeptText (name: string): [text: string, setText: (text: string) => void] {
  const key = `${KEY}${location.pathname} ${name}`
  const [text, setText] = useState(() => session.getItem(key) ?? '')
  return [text, typed => {
    setText(typed)
    if (typed === '') session.removeItem(key)
    else keep(session, key, typed)
  }]
}
