import { type Tried } from '../api/preview.ts'

/** A draft: an author's unsaved version of a prompt, stored in this browser. */
interface Draft {
  readonly stored: Readonly<Record<string, unknown>>
  /** The entity tag of the stored prompt on which the draft is based; `undefined` for a new prompt. */
  readonly base: string | undefined
  readonly at: number
}

const PREFIX = 'prompt-shell.draft.'

export function readDraft (id: string): Draft | undefined {
  const kept = localStorage.getItem(PREFIX + id)
  if (kept === null) return undefined
  try {
    return JSON.parse(kept) as Draft
  } catch {
    return undefined
  }
}

/** Stores a draft in this browser. If the browser has no room for it, the draft exists in this tab only. */
export function keepDraft (id: string, draft: Draft): void {
  try {
    localStorage.setItem(PREFIX + id, JSON.stringify(draft))
  } catch {
    localStorage.removeItem(PREFIX + id)
  }
}

export function dropDraft (id: string): void {
  localStorage.removeItem(PREFIX + id)
}

/** The beginning of the names under which the browser stores the values that each prompt was last previewed with. */
const TRIED = 'prompt-shell.tried.'

export function readTried (id: string): Tried {
  try {
    return JSON.parse(localStorage.getItem(TRIED + id) ?? '{"variables":{}}') as Tried
  } catch {
    return { variables: {} }
  }
}

export function keepTried (id: string, tried: Tried): void {
  try {
    localStorage.setItem(TRIED + id, JSON.stringify(tried))
  } catch {
    localStorage.removeItem(TRIED + id)
  }
}
