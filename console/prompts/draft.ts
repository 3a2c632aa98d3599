/** What its author has not saved yet, kept in this browser. */
export interface Draft {
  readonly stored: Readonly<Record<string, unknown>>
  /** The entity tag of what it is based on; undefined for a new prompt. */
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

/** Keeps a draft. Where the browser has no room for it, it stays in the tab only. */
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

/** The values that a prompt was last tried with; they are kept as drafts are. */
const VALUES = 'prompt-shell.values.'

export function readValues (id: string): Readonly<Record<string, unknown>> {
  try {
    return JSON.parse(localStorage.getItem(VALUES + id) ?? '{}') as Record<string, unknown>
  } catch {
    return {}
  }
}

export function keepValues (id: string, values: Readonly<Record<string, unknown>>): void {
  try {
    localStorage.setItem(VALUES + id, JSON.stringify(values))
  } catch {
    localStorage.removeItem(VALUES + id)
  }
}
