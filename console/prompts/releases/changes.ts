/*
 * Every change of what callers get from here: a label that moves, and a text that is stored over another. Each is made only where what the
 * person saw still holds, and is taken back by another change of the same kind, which leaves as much behind as the first.
 */
import { ApiError } from '../../api/api-error.ts'
import { api, take, takeTagged } from '../../api/client.ts'
import { queries } from '../../api/queries.ts'
import type { Tagged } from '../../api/tagged.ts'
import { Told } from '../../parts/error-note.tsx'
import { offerUndo } from '../../parts/undo.tsx'
import { t } from '../../text/text.ts'
import { meaningOf } from './meaning.ts'
import type { Meaning, Releases } from './use-releases.ts'
import { meaningInWords } from './words.ts'

/** How often a change is tried again since the record was written meanwhile, though not what the label means. */
const ATTEMPTS = 5

/** Whether something else was stored meanwhile, so that nothing was done. */
export const isRefusal = (error: unknown): boolean => error instanceof ApiError && error.status === 412

/**
 * Moves a label, makes it, or removes it (`to: undefined`). @param seen what it meant when the person decided
 * @returns false if it means something else by now: then nothing was done, and the page shows what. True, too, where others are asked to look.
 */
export async function moveLabel (
  id: string,
  label: string,
  seen: Meaning | undefined,
  to: Meaning | 'latest' | undefined,
  about: About = {}
): Promise<boolean> {
  for (let left = ATTEMPTS; ; left--) {
    const { value: now, tag } = await takeTagged(api.GET('/api/prompts/{id}/versions', { params: { path: { id } } }))
    if (JSON.stringify(meaningOf(now, label)) !== JSON.stringify(seen)) {
      await queries.invalidateQueries({ queryKey: ['registry'] })
      return false
    }
    try {
      const sent = await send(id, label, to, about, tag)
      if (sent.request !== undefined) {
        const path = { id: sent.request }
        offerUndo(t.lookAsked(label), () => take(api.POST('/api/sessions/{id}/cancel', { params: { path } })).then(readRequests), undefined)
        return true
      }
      const { meaning } = sent
      offerUndo(meaning === undefined ? t.labelRemoved(label, id) : t.labelMoved(label, id, meaningInWords(meaning)), async () => {
        if (!await moveBack(id, label, meaning, seen)) throw new Told(t.movedSince(label))
      })
      return true
    } catch (error) {
      if (!isRefusal(error) || left === 0) throw error
    } finally {
      await Promise.all([queries.invalidateQueries({ queryKey: ['registry'] }), readRequests()])
    }
  }
}

/** What is kept with a move. `override` is why nobody is asked to look before. */
interface About {
  readonly note?: string | undefined
  readonly override?: string | undefined
}

const readRequests = () => queries.invalidateQueries({ queryKey: ['sessions', 'requests'] })

async function moveBack (id: string, label: string, from: Meaning | undefined, to: Meaning | undefined): Promise<boolean> {
  const { value: now, tag } = await takeTagged(api.GET('/api/prompts/{id}/versions', { params: { path: { id } } }))
  if (JSON.stringify(meaningOf(now, label)) !== JSON.stringify(from)) return false
  if ((await send(id, label, to, {}, tag)).request !== undefined) throw new Told(t.lookAsked(label))
  await queries.invalidateQueries({ queryKey: ['registry'] })
  return true
}

async function send (
  id: string,
  label: string,
  to: Meaning | 'latest' | undefined,
  { note, override }: About,
  tag: string | undefined
): Promise<{ readonly meaning?: Meaning | undefined, readonly request?: string }> {
  const params = { path: { id, label }, header: over(tag) }
  const reply = to === undefined
    ? await take(api.DELETE('/api/prompts/{id}/labels/{label}', { params: { ...params, query: { override } } }))
    : await take(api.PUT('/api/prompts/{id}/labels/{label}', { params, body: { version: to, note, override } }))
  if (typeof reply === 'object' && reply !== null && 'approvedBy' in reply) return { request: reply.id }
  return { meaning: typeof reply === 'object' && reply !== null ? meaningOf(reply, label) : undefined }
}

/** @param tag of what may be replaced, `undefined` for nothing */
function over (tag: string | undefined) {
  return tag === undefined ? { 'if-none-match': '*' } : { 'if-match': tag }
}

/** A text as it was stored for a prompt: `null` under its own key, whose tag is `undefined`, if it has none. */
export type StoredText = Tagged<unknown>

/** Which version has the text with this entity tag. */
export function versionWith ({ versions }: Releases, tag: string | undefined): number | undefined {
  return tag === undefined ? undefined : versions.find(version => tag === `"${version.tag}"`)?.n
}

/**
 * Stores a version's text again, or a text that was there before. @param before what the person saw, and gets back by *Undo*
 * @throws ApiError 412 if something else is stored by now
 */
export async function replaceText (id: string, next: number | StoredText, before: StoredText, releases: Releases): Promise<void> {
  const stored = await store(id, next, before.tag, releases)
  const says = typeof next === 'number' ? t.restored(next) : t.wentBack
  await queries.invalidateQueries({ queryKey: ['registry'] })
  offerUndo(says, async () => {
    await store(id, before, stored, releases)
    await queries.invalidateQueries({ queryKey: ['registry'] })
  })
}

async function store (id: string, text: number | StoredText, tag: string | undefined, releases: Releases): Promise<string | undefined> {
  const params = { path: { id }, header: over(tag) }
  const n = typeof text === 'number' ? text : versionWith(releases, text.tag)
  if (n !== undefined) return (await takeTagged(api.POST('/api/prompts/{id}/versions/{n}/restore', { params: { ...params, path: { id, n } }, body: {} }))).tag
  const { value, tag: own } = text as StoredText
  if (own !== undefined) return (await takeTagged(api.PUT('/api/prompts/{id}', { params, body: value as Record<string, unknown> }))).tag
  await take(api.DELETE('/api/prompts/{id}', { params }))
  return undefined
}
