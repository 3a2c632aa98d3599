import { type ComponentProps } from 'react'
import { Link, useLocation, useSearch } from 'wouter'
import { useMay } from '../api/caller.ts'
import { ErrorNote } from '../parts/error-note.tsx'
import { PageTitle } from '../parts/page-title.tsx'
import { Tabs } from '../parts/tabs.tsx'
import { shortTime } from '../parts/time.ts'
import { t } from '../text/text.ts'
import { Conflict } from './conflict.tsx'
import { storedForm } from './entry.ts'
import { RawTab } from './raw-tab.tsx'
import { CompareTab } from './releases/compare-tab.tsx'
import { ReleasesTab } from './releases/releases-tab.tsx'
import { SaveButton } from './save-button.tsx'
import { SettingsTab } from './settings-tab.tsx'
import { TestsTab } from './tests/tests-tab.tsx'
import { useDraft, type Workpiece } from './use-draft.ts'
import { UsesTab } from './uses-tab.tsx'
import { Workbench } from './workbench.tsx'

/** The page of one prompt, with tabs for its text, its settings, its stored form, its tests, its versions and its uses. */
export function PromptPage ({ id }: { readonly id: string }) {
  const piece = useDraft(id)
  if (piece.error !== null && piece.error !== undefined) return <><PageTitle title={id} crumbs={<Crumbs id={id} />} /><ErrorNote error={piece.error} /></>
  if (piece.isLoading) return <><PageTitle title={id} crumbs={<Crumbs id={id} />} /><p className='quiet loading' role='status'>{t.loading}</p></>
  return (
    <>
      <Head id={id} piece={piece} />
      {piece.saveError !== undefined && <ErrorNote error={piece.saveError} />}
      {piece.theirs !== undefined ? <Conflict piece={piece} theirs={piece.theirs} /> : <Parts id={id} piece={piece} />}
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
  return (
    <PageTitle title={id} mono crumbs={<Crumbs id={id} />}>
      <DraftChip piece={piece} />
      {piece.stored?.value.origin === 'extension' && <span className='chip'>{t.fromExtension}</span>}
      {piece.isDraft && piece.stored !== undefined && mayWrite && (
        <button type='button' className='button' onClick={() => { piece.discard() }}>
          {t.discard}
        </button>
      )}
      <SaveButton id={id} piece={piece} />
    </PageTitle>
  )
}

function DraftChip ({ piece: { isDraft, restoredOf, stored } }: { readonly piece: Workpiece }) {
  if (isDraft) return <span className='chip warn'>{restoredOf === undefined ? t.draft : t.draftOf(shortTime(restoredOf))}</span>
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
    case 'raw': return <RawTab id={id} stored={storedForm(piece.entry)} edit={piece.edit} />
    case 'tests': return <TestsTab id={id} isDraft={piece.isDraft} />
    case 'releases': return <ReleasesTab id={id} />
    case 'compare': return <CompareTab id={id} piece={piece} />
    case 'uses': return <UsesTab id={id} />
    default: return <Workbench id={id} piece={piece} place={place} />
  }
}
