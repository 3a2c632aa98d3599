import { useCallback, useEffect, useRef, useState } from 'react'
import { ApiError } from '../api/api-error.ts'
import { api, type Tagged, takeTagged } from '../api/client.ts'
import { queries } from '../api/queries.ts'
import { useQuery } from '@tanstack/react-query'
import { dropDraft, keepDraft, readDraft } from './draft.ts'
import { type Entry, entryFrom, storedForm } from './entry.ts'

interface StoredPrompt {
  readonly prompt: unknown
  readonly syntax?: string
  readonly origin: string
  readonly revision: string
  readonly diagnostics: readonly unknown[]
}

/** A prompt that an author edits: the stored prompt, the author's draft, and the functions that edit, save and drop the draft. */
export interface Workpiece {
  readonly isLoading: boolean
  readonly error: unknown
  /** The stored prompt; `undefined` for a prompt that is not stored yet. */
  readonly stored: Tagged<StoredPrompt> | undefined
  readonly entry: Entry
  readonly edit: (entry: Entry) => void
  readonly isDraft: boolean
  /** When a draft that was found in this browser had last been changed, in ms since 1970; `undefined` if none was found. */
  readonly restoredOf: number | undefined
  readonly isSaving: boolean
  readonly saveError: unknown
  /** The prompt that somebody else has stored since the draft was begun; `undefined` until a save has failed for this reason. */
  readonly theirs: Tagged<StoredPrompt> | undefined
  /**
   * Saves the draft.
   * @param over the entity tag of the stored prompt that the draft may replace; without it, the prompt on which the draft is based
   * @param note describes the change; it is stored with the version
   */
  readonly save: (over?: string, note?: string) => Promise<void>
  /** Drops the draft, and shows the stored prompt again. */
  readonly discard: () => void
}

const NEW: Entry = entryFrom({ messages: [{ role: 'user', content: '' }] })

export function useDraft (id: string): Workpiece {
  const query = useQuery({ queryKey: ['registry', 'prompt', id], queryFn: () => readPrompt(id) })
  const stored = query.data ?? undefined
  const [entry, setEntry] = useState<Entry>()
  const [base, setBase] = useState<string>()
  const [isDraft, setDraft] = useState(false)
  const [restoredOf, setRestored] = useState<number>()
  const [isSaving, setSaving] = useState(false)
  const [saveError, setSaveError] = useState<unknown>()
  const [theirs, setTheirs] = useState<Tagged<StoredPrompt>>()
  const isBegun = useRef(false)

  const take = useCallback((from: Tagged<StoredPrompt> | undefined) => {
    setEntry(from === undefined ? NEW : entryFrom(from.value.prompt))
    setBase(from?.tag)
    setDraft(false)
    setRestored(undefined)
    setTheirs(undefined)
    setSaveError(undefined)
  }, [])

  useEffect(() => {
    if (!query.isSuccess) return
    if (!isBegun.current) {
      isBegun.current = true
      const draft = readDraft(id)
      if (draft === undefined) { take(stored); return }
      setEntry(entryFrom(draft.stored))
      setBase(draft.base)
      setDraft(true)
      setRestored(draft.at)
    } else if (!isDraft && stored?.tag !== base) take(stored)
  }, [query.isSuccess, stored, isDraft, base, id, take])

  const edit = (next: Entry) => {
    setEntry(next)
    setDraft(true)
    setSaveError(undefined)
    keepDraft(id, { stored: storedForm(next), base, at: Date.now() })
  }
  const save = async (over?: string, note = '') => {
    if (entry === undefined || isSaving) return
    setSaving(true)
    setSaveError(undefined)
    const tag = over ?? base
    try {
      const header = tag === undefined ? { 'if-none-match': '*' } : { 'if-match': tag }
      await takeTagged(api.PUT('/api/prompts/{id}', { params: { path: { id }, header, query: note === '' ? undefined : { note } }, body: storedForm(entry) }))
      dropDraft(id)
      const now = await readPrompt(id)
      take(now ?? undefined)
      queries.setQueryData(['registry', 'prompt', id], now)
      void queries.invalidateQueries({ queryKey: ['registry'] })
    } catch (error) {
      if (error instanceof ApiError && error.status === 412) setTheirs(await readPrompt(id) ?? undefined)
      else setSaveError(error)
    } finally {
      setSaving(false)
    }
  }
  const discard = () => {
    dropDraft(id)
    take(theirs ?? stored)
    void query.refetch()
  }
  return {
    isLoading: query.isPending || entry === undefined,
    error: query.error,
    stored,
    entry: entry ?? NEW,
    edit,
    isDraft,
    restoredOf,
    isSaving,
    saveError,
    theirs,
    save,
    discard
  }
}

/** Reads the stored prompt; `null` if there is none. @throws ApiError */
async function readPrompt (id: string): Promise<Tagged<StoredPrompt> | null> {
  try {
    return await takeTagged(api.GET('/api/prompts/{id}', { params: { path: { id } } })) as Tagged<StoredPrompt>
  } catch (error) {
    if (error instanceof ApiError && error.status === 404 && error.details['diagnostics'] === undefined) return null
    throw error
  }
}
