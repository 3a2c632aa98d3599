import { type ComponentProps, useEffect, useRef, useState } from 'react'
import { Link, useLocation, useSearch } from 'wouter'
import { ApiError, isUnreadable } from '../api/api-error.ts'
import { useMay } from '../api/caller.ts'
import type { Conflict as ConflictOf } from '../edit/conflict.tsx'
import { OtherTexts } from '../edit/other-texts.tsx'
import { CopyButton } from '../parts/copy-button.tsx'
import { ErrorNote } from '../parts/error-note.tsx'
import { lazyPart } from '../parts/lazy-part.tsx'
import { PageTitle } from '../parts/page-title.tsx'
import { Tabs } from '../parts/tabs.tsx'
import { shortTime } from '../parts/time.ts'
import { When } from '../parts/when.tsx'
import { letterOf } from '../parts/writing.ts'
import { t, withTexts } from '../text/text.ts'
import { readableForm, storedForm } from './entry.ts'
import { useReleases } from './releases/use-releases.ts'
import { useDraft, type Workpiece } from './use-draft.ts'
import { Workbench } from './workbench.tsx'

const PromptActions = lazyPart(async () => (await import('./prompt-actions.tsx')).PromptActions)
const CompareTab = lazyPart(async () => (await withTexts('tabs', import('./releases/compare-tab.tsx'))).CompareTab)
const ReleasesTab = lazyPart(async () => (await withTexts('tabs', withTexts('usage', import('./releases/releases-tab.tsx')))).ReleasesTab)
const SavedLine = lazyPart(async () => (await withTexts('tabs', import('./releases/saved-line.tsx'))).SavedLine)
const TestsTab = lazyPart(async () => (await withTexts('tabs', import('./tests/tests-tab.tsx'))).TestsTab)
const SettingsTab = lazyPart(async () => (await import('./json-tabs.tsx')).SettingsTab)
const RawTab = lazyPart(async () => (await import('./json-tabs.tsx')).RawTab)
const UsesTab = lazyPart(async () => (await import('./uses-tabs.tsx')).UsesTab)
const UseItTab = lazyPart(async () => (await import('./uses-tabs.tsx')).UseItTab)
const StoredText = lazyPart(async () => (await import('../library/stored-text.tsx')).StoredText)
const Conflict = lazyPart(async () => (await import('../edit/conflict.tsx')).Conflict) as typeof ConflictOf

/** Shown when somebody else has stored the prompt since the draft was begun. */
function Taken ({ id, piece: { editing } }: { readonly id: string, readonly piece: Workpiece }) {
  const { state } = editing
  const newest = useReleases(id).data?.value.versions[0]
  if (state?.theirs === undefined) return null
  return (
    <Conflict
      editing={editing}
      state={{ ...state, theirs: state.theirs }}
      textOf={readableForm}
      who={newest === undefined ? undefined : <>{newest.by !== undefined && newest.by !== '' && `${newest.by}, `}<When at={newest.at} /></>}
    />
  )
}

/** The page of one prompt, with tabs for its text, its settings, its stored form, its tests, its versions and its uses. */
export function PromptPage ({ id }: { readonly id: string }) {
  const piece = useDraft(id)
  if (piece.error !== null && piece.error !== undefined) {
    return (
      <>
        <PageTitle title={id} mono crumbs={<Crumbs id={id} />} />
        {isUnreadable(piece.error)
          ? <StoredText kind='prompts' id={id} error={piece.error} />
          : <ErrorNote error={piece.error} onRetry={() => { piece.readAgain() }} />}
      </>
    )
  }
  if (piece.isLoading) return <><PageTitle title={id} crumbs={<Crumbs id={id} />} /><p className='quiet loading' role='status'>{t.loading}</p></>
  return (
    <>
      <Head id={id} piece={piece} />
      {piece.editing.error !== undefined && <ErrorNote error={piece.editing.error} />}
      <OtherTexts editing={piece.editing} />
      {piece.saved !== undefined && <SavedLine id={id} saved={piece.saved} />}
      {piece.editing.state?.isRefused === true ? <Taken id={id} piece={piece} /> : <Parts id={id} piece={piece} />}
    </>
  )
}

function Crumbs ({ id }: { readonly id: string }) {
  const module = id.includes('.') ? id.slice(0, id.indexOf('.')) : undefined
  return (
    <>
      <Link href='/prompts'>{t.prompts}</Link>
      {module !== undefined && <> / <Link href={`/prompts?q=${encodeURIComponent(`${module}.`)}`}>{module}</Link></>}
    </>
  )
}

function Head ({ id, piece }: { readonly id: string, readonly piece: Workpiece }) {
  const mayWrite = useMay('write')
  const [isActed, setActed] = useState(false)
  return (
    <PageTitle title={id} mono crumbs={<Crumbs id={id} />}>
      <DraftChip piece={piece} />
      {piece.stored?.origin === 'extension' && <span className='chip'>{t.fromExtension}</span>}
      {piece.isDraft && piece.stored !== undefined && mayWrite && (
        <button type='button' className='button' onClick={() => { piece.discard() }}>
          {t.discard}
        </button>
      )}
      {mayWrite && piece.stored !== undefined && (
        <button type='button' className='button' aria-label={t.actionsOn(id)} title={t.actions} onClick={() => { setActed(true) }}>⋯</button>
      )}
      {isActed && <PromptActions id={id} onClose={() => { setActed(false) }} />}
      <SaveButton id={id} piece={piece} />
    </PageTitle>
  )
}

function DraftChip ({ piece: { isDraft, stored, editing: { foundOf } } }: { readonly piece: Workpiece }) {
  if (isDraft) return <span className='chip warn'>{foundOf === undefined ? t.draft : t.draftOf(shortTime(foundOf))}</span>
  return <span className='chip'>{stored === undefined ? t.notStored : 'latest'}</span>
}

function Parts ({ id, piece }: { readonly id: string, readonly piece: Workpiece }) {
  const [path] = useLocation()
  const search = new URLSearchParams(useSearch())
  const tab = search.get('tab') ?? 'text'
  const place = { line: Number(search.get('line') ?? 0), column: Number(search.get('column') ?? 1), message: Number(search.get('message') ?? 0) }
  const uses = piece.stored === undefined
    ? []
    : [
        ['tests', t.tabTests] as const,
        ['releases', t.tabReleases] as const,
        ['compare', t.compare] as const,
        ['use', t.tabUseIt] as const,
        ['uses', t.tabUses] as const
      ]
  const tabs: ReadonlyArray<readonly [string, string]> = [['text', t.tabText], ['settings', t.tabSettings], ['raw', t.tabRaw], ...uses]
  return (
    <>
      <Tabs
        label={t.partsOfPrompt} tabs={tabs.map(([name, words]) => ({
          href: name === 'text' ? path : `${path}?tab=${name}`,
          name: words,
          isHere: tab === name
        }))}
      />
      <Part id={id} piece={piece} tab={tab} place={place} />
    </>
  )
}

function Part ({ id, piece, tab, place }: {
  readonly id: string
  readonly piece: Workpiece
  readonly tab: string
  readonly place: ComponentProps<typeof Workbench>['place']
}) {
  switch (tab) {
    case 'settings': return <SettingsTab piece={piece} />
    case 'raw': return <RawTab id={id} piece={piece} />
    case 'tests': return <TestsTab id={id} isDraft={piece.isDraft} parameters={piece.entry.settings['parameters']} />
    case 'releases': return <ReleasesTab id={id} piece={piece} />
    case 'compare': return <CompareTab id={id} piece={piece} />
    case 'use': return <UseItTab id={id} />
    case 'uses': return <UsesTab id={id} />
    default: return <Workbench id={id} piece={piece} place={place} />
  }
}

/**
 * The button that saves the draft. If the caller may not write, or the store is read-only, buttons copy the prompt instead, in forms that
 * somebody else can publish.
 */
function SaveButton ({ id, piece }: { readonly id: string, readonly piece: Workpiece }) {
  const mayWrite = useMay('write')
  const isReadOnly = piece.editing.error instanceof ApiError && piece.editing.error.code === 'STORE_READ_ONLY'
  const { isDraft, editing: { isSaving, state } } = piece
  const [note, setNote] = useState('')
  const save = async () => { await piece.editing.save(note.trim()) }
  const latest = useRef(save)
  latest.current = save
  useEffect(() => { if (!isDraft) setNote('') }, [isDraft])
  useEffect(() => {
    if (!mayWrite) return
    const press = (event: KeyboardEvent) => {
      if (letterOf(event) !== 's' || !(event.ctrlKey || event.metaKey)) return
      event.preventDefault()
      void latest.current()
    }
    addEventListener('keydown', press)
    return () => { removeEventListener('keydown', press) }
  }, [mayWrite])
  if (mayWrite && !isReadOnly) {
    return (
      <>
        {isDraft && (
          <input
            className='field auto'
            aria-label={t.noteOfSave}
            placeholder={t.noteOfSave}
            maxLength={500}
            value={note}
            onChange={event => { setNote(event.target.value) }}
          />
        )}
        <button
          type='button'
          className='button primary'
          disabled={!isDraft || isSaving || state?.half !== undefined}
          onClick={() => { void save() }}
        >
          {isSaving ? t.saving : t.save}
          {' '}
          <kbd>{t.keySave}</kbd>
        </button>
      </>
    )
  }
  const json = () => JSON.stringify(storedForm(piece.entry), null, 2)
  const quoted = () => json().replaceAll("'", "'\\''")
  return (
    <span className='row'>
      <CopyButton className='button' label={t.copyAsFile} text={json} />
      <CopyButton className='button' label={t.copyAsRedis} text={() => `redis-cli SET 'shenma:templates:${id.replaceAll('.', ':')}' '${quoted()}'`} />
      <CopyButton
        className='button'
        label={t.copyAsCurl}
        text={() => `curl -X PUT '${location.origin}/api/prompts/${encodeURIComponent(id)}' -H 'content-type: application/json' -d '${quoted()}'`}
      />
    </span>
  )
}
