import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { ApiError } from '../api/api-error.ts'
import { api, takeTagged } from '../api/client.ts'
import type { Tagged } from '../api/tagged.ts'
import { queries } from '../api/queries.ts'
import { type Editing, useEdited } from '../edit/use-edited.ts'
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
  readonly stored: StoredPrompt | undefined
  readonly editing: Editing<Entry>
  readonly entry: Entry
  readonly edit: (entry: Entry) => void
  readonly isDraft: boolean
  /** Drops the draft, and shows the stored prompt again. */
  readonly discard: () => void
}

const NEW: Entry = entryFrom({ messages: [{ role: 'user', content: '' }] })

export function useDraft (id: string): Workpiece {
  const query = useQuery({ queryKey: ['registry', 'prompt', id], queryFn: () => readPrompt(id) })
  const { data } = query
  const editing = useEdited<Entry>({
    name: `prompt ${id}`,
    stored: useMemo(() => data === undefined ? undefined : entryOf(data), [data]),
    read: async () => entryOf(await readPrompt(id)),
    put: async (entry, tag, note) => {
      const header = tag === undefined ? { 'if-none-match': '*' } : { 'if-match': tag }
      const query = note === '' ? undefined : { note }
      const reply = await takeTagged(api.PUT('/api/prompts/{id}', { params: { path: { id }, header, query }, body: storedForm(entry) }))
      void queries.invalidateQueries({ queryKey: ['registry'] })
      return reply.tag
    }
  })
  const { state } = editing
  return {
    isLoading: query.isPending || state === undefined,
    error: query.error,
    stored: data?.value,
    editing,
    entry: state?.mine ?? NEW,
    edit: editing.type,
    isDraft: editing.isChanged,
    discard: () => { editing.resolve((state?.theirs ?? state?.base)?.value ?? NEW) }
  }
}

function entryOf (prompt: Tagged<StoredPrompt> | null): Tagged<Entry> {
  return prompt === null ? { value: NEW, tag: undefined } : { value: entryFrom(prompt.value.prompt), tag: prompt.tag }
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
