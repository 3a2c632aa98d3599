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
import { SaveButton } from './save-button.tsx'
import { SettingsTab } from './settings-tab.tsx'
import { useDraft } from './use-draft.ts'
import { UsesTab } from './uses-tab.tsx'
import { Workbench } from './workbench.tsx'

/** One prompt: its text, its settings, what is stored of it, and what it uses. */
export function PromptPage ({ id }: { readonly id: string }) {
  const piece = useDraft(id)
  const mayWrite = useMay('write')
  const [path] = useLocation()
  const search = new URLSearchParams(useSearch())
  const tab = search.get('tab') ?? 'text'
  const module = id.includes('.') ? id.slice(0, id.indexOf('.')) : undefined
  if (piece.error !== null && piece.error !== undefined) return <><PageTitle title={id} crumbs={<Link href='/prompts'>{t.prompts}</Link>} /><ErrorNote error={piece.error} /></>
  if (piece.isLoading) return <><PageTitle title={id} crumbs={<Link href='/prompts'>{t.prompts}</Link>} /><p className='quiet loading' role='status'>{t.loading}</p></>
  const place = { line: Number(search.get('line') ?? 0), column: Number(search.get('column') ?? 1), message: Number(search.get('message') ?? 0) }
  const isNew = piece.stored === undefined
  const tabs: ReadonlyArray<readonly [string, string]> = [['text', t.tabText], ['settings', t.tabSettings], ['raw', t.tabRaw], ...(isNew ? [] : [['uses', t.tabUses] as const])]
  return (
    <>
      <PageTitle title={id} mono crumbs={<><Link href='/prompts'>{t.prompts}</Link>{module !== undefined && <> / <Link href={`/prompts?q=${encodeURIComponent(`${module}.`)}`}>{module}</Link></>}</>}>
        {piece.isDraft
          ? <span className='chip warn'>{piece.restoredOf === undefined ? t.draft : t.draftOf(shortTime(piece.restoredOf))}</span>
          : isNew ? <span className='chip'>{t.notStored}</span> : <span className='chip'>latest</span>}
        {piece.stored?.value.origin === 'extension' && <span className='chip'>{t.fromExtension}</span>}
        {piece.isDraft && !isNew && mayWrite && <button type='button' className='button' onClick={piece.discard}>{t.discard}</button>}
        <SaveButton id={id} piece={piece} />
      </PageTitle>
      {piece.saveError !== undefined && <ErrorNote error={piece.saveError} />}
      {piece.theirs !== undefined
        ? <Conflict piece={piece} theirs={piece.theirs} />
        : (
          <>
            <Tabs label={t.partsOfPrompt} tabs={tabs.map(([name, words]) => ({ href: name === 'text' ? path : `${path}?tab=${name}`, name: words, isHere: tab === name }))} />
            {tab === 'settings' ? <SettingsTab piece={piece} /> : tab === 'raw' ? <RawTab id={id} stored={storedForm(piece.entry)} edit={piece.edit} /> : tab === 'uses' ? <UsesTab id={id} /> : <Workbench id={id} piece={piece} place={place} />}
          </>
          )}
    </>
  )
}
