import { useQuery } from '@tanstack/react-query'
import { useMemo, useState } from 'react'
import { ApiError } from '../api/api-error.ts'
import { api, takeTagged } from '../api/client.ts'
import type { Tagged } from '../api/tagged.ts'
import { queries } from '../api/queries.ts'
import { type Editing, useEdited } from '../edit/use-edited.ts'
import { t } from '../text/text.ts'
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
  readonly readAgain: () => void
  /** The stored prompt; `undefined` for a prompt that is not stored yet. */
  readonly stored: StoredPrompt | undefined
  /** The entity tag of what is stored under the prompt's own key; `undefined` for none, as for a prompt of an extension. */
  readonly storedTag: string | undefined
  /** The last save of this page, while what it has stored is what is stored. */
  readonly saved: Saved | undefined
  readonly editing: Editing<Entry>
  readonly entry: Entry
  readonly edit: (entry: Entry) => void
  readonly isDraft: boolean
  /** Drops the draft, and shows the stored prompt again. The draft can be brought back. */
  readonly discard: () => void
}

export interface Saved {
  /** Left out where saves do not become versions. */
  readonly version: number | undefined
  readonly tag: string | undefined
  /** What it has replaced; `undefined` for a prompt that was new. */
  readonly before: Tagged<unknown> | undefined
  readonly text: unknown
}

const NEW: Entry = entryFrom({ messages: [{ role: 'user', content: '' }] })

export function useDraft (id: string): Workpiece {
  const query = useQuery({ queryKey: ['registry', 'prompt', id], queryFn: () => readPrompt(id) })
  const { data } = query
  const [saved, setSaved] = useState<Saved>()
  const editing = useEdited<Entry>({
    name: `prompt ${id}`,
    stored: useMemo(() => data === undefined ? undefined : entryOf(data), [data]),
    read: async () => {
      const now = await readPrompt(id)
      queries.setQueryData(['registry', 'prompt', id], now)
      return entryOf(now)
    },
    put: async (entry, tag, note) => {
      const header = tag === undefined ? { 'if-none-match': '*' } : { 'if-match': tag }
      const query = note === '' ? undefined : { note }
      const text = storedForm(entry)
      const reply = await takeTagged(api.PUT('/api/prompts/{id}', { params: { path: { id }, header, query }, body: text }))
      const before = data?.tag === tag && data !== null ? { value: data?.value.prompt, tag } : undefined
      setSaved({ version: reply.value.version, tag: reply.tag, before, text })
      void queries.invalidateQueries({ queryKey: ['registry'] })
      return reply.tag
    }
  })
  const { state } = editing
  return {
    isLoading: query.isPending || state === undefined,
    // What is open stays open while it cannot be read again.
    error: query.data === undefined ? query.error : null,
    readAgain: () => { void query.refetch() },
    stored: data?.value,
    storedTag: data?.tag,
    saved: saved !== undefined && state?.base.tag === saved.tag && state?.theirs === undefined ? saved : undefined,
    editing,
    entry: state?.mine ?? NEW,
    edit: editing.type,
    isDraft: editing.isChanged,
    discard: () => { editing.drop(t.draftDiscarded) }
  }
}

function entryOf (prompt: Tagged<StoredPrompt> | null): Tagged<Entry> {
  return prompt === null ? { value: NEW, tag: undefined } : { value: entryFrom(prompt.value.prompt), tag: prompt.tag }
}

/**
 * Reads the stored prompt; `null` if there is none. What is edited is latest, whichever label callers get who name none.
 * @throws ApiError
 */
async function readPrompt (id: string): Promise<Tagged<StoredPrompt> | null> {
  try {
    return await takeTagged(api.GET('/api/prompts/{id}', { params: { path: { id }, query: { label: 'latest', broken: true } } })) as Tagged<StoredPrompt>
  } catch (error) {
    if (error instanceof ApiError && error.status === 404 && error.details['diagnostics'] === undefined) return null
    throw error
  }
}
