import { useQuery } from '@tanstack/react-query'
import { type ComponentProps, type ReactNode, useEffect, useRef, useState } from 'react'
import { Link, useLocation, useSearch } from 'wouter'
import { ApiError } from '../api/api-error.ts'
import { useCaller, useMay } from '../api/caller.ts'
import { api, take } from '../api/client.ts'
import type { Needs } from '../api/preview.ts'
import type { Conflict as ConflictOf } from '../edit/conflict.tsx'
import { Editor } from '../edit/editor.tsx'
import { patch } from '../edit/patch.ts'
import { OtherTexts } from '../edit/other-texts.tsx'
import { UsedBy } from '../library/used-by.tsx'
import { CopyButton } from '../parts/copy-button.tsx'
import { ErrorNote } from '../parts/error-note.tsx'
import { lazyPart } from '../parts/lazy-part.tsx'
import { Loaded } from '../parts/loading.tsx'
import { PageTitle } from '../parts/page-title.tsx'
import { Tabs } from '../parts/tabs.tsx'
import { shortTime } from '../parts/time.ts'
import { When } from '../parts/when.tsx'
import { letterOf } from '../parts/writing.ts'
import { t } from '../text/text.ts'
import { entryFrom, readableForm, storedForm } from './entry.ts'
import { useReleases } from './releases/use-releases.ts'
import { SNIPPETS } from './snippets.ts'
import { readTried } from './tried.ts'
import { useDraft, type Workpiece } from './use-draft.ts'
import { Workbench } from './workbench.tsx'

const PromptActions = lazyPart(async () => (await import('./prompt-actions.tsx')).PromptActions)
const CompareTab = lazyPart(async () => (await import('./releases/compare-tab.tsx')).CompareTab)
const ReleasesTab = lazyPart(async () => (await import('./releases/releases-tab.tsx')).ReleasesTab)
const SavedLine = lazyPart(async () => (await import('./releases/saved-line.tsx')).SavedLine)
const TestsTab = lazyPart(async () => (await import('./tests/tests-tab.tsx')).TestsTab)
const ParametersForm = lazyPart(async () => (await import('./parameters-form.tsx')).ParametersForm)
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
  if (piece.error !== null && piece.error !== undefined) return <><PageTitle title={id} crumbs={<Crumbs id={id} />} /><ErrorNote error={piece.error} /></>
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

/** The tab that edits all settings of a prompt except its texts: the parameters in a form, and all of them as JSON. */
function SettingsTab ({ piece: { entry, edit, editing } }: { readonly piece: Workpiece }) {
  const mayWrite = useMay('write')
  const json = useJsonText('settings', entry.settings, editing, settings => {
    if (typeof settings !== 'object' || settings === null || Array.isArray(settings)) throw new Error(t.settingsObject)
    const { messages, userPrompt, prompt, ...rest } = settings as Record<string, unknown>
    edit({ ...entry, settings: rest })
  })
  return (
    <div className='split halves'>
      <>
        <ParametersForm
          declared={entry.settings['parameters']}
          half={editing.state?.half}
          onHalf={(of, text) => { editing.typeHalf(of, text) }}
          onChange={mayWrite ? parameters => { edit({ ...entry, settings: patch(entry.settings, { parameters }) }) } : undefined}
        />
      </>
      <JsonTab json={json} label={t.tabSettings}>
        <h2>{t.tabSettings}</h2><span className='quiet'>description, parameters, defaults, returns, supports</span>
      </JsonTab>
    </div>
  )
}

/** The tab that edits the whole prompt as JSON, in its stored form. */
function RawTab ({ id, piece: { entry, edit, editing } }: { readonly id: string, readonly piece: Workpiece }) {
  const json = useJsonText('raw', storedForm(entry), editing, parsed => { edit(entryFrom(parsed)) })
  return (
    <JsonTab json={json} label={t.tabRaw}>
      <h2 className='mono'>shenma:templates:{id.replaceAll('.', ':')}</h2><span className='grow' /><CopyButton text={json.text} />
    </JsonTab>
  )
}

interface JsonText {
  readonly text: string
  readonly problem: string
  /** `undefined` while a text that was typed elsewhere cannot be read yet: an edit here would drop it. */
  readonly change: ((text: string) => void) | undefined
}

/**
 * A part of the prompt as JSON that is being typed. It follows the prompt when that changes elsewhere, and a text that cannot be read yet
 * stays with the draft. @param of the editor's name @param take takes what was read @throws Error from `take` for another kind of value
 */
function useJsonText (of: string, value: unknown, editing: Workpiece['editing'], take: (value: unknown) => void): JsonText {
  const half = editing.state?.half?.of === of ? editing.state.half.text : undefined
  const [text, setText] = useState(() => half ?? JSON.stringify(value, null, 2))
  const [problem, setProblem] = useState('')
  const form = JSON.stringify(value)
  const shown = half ?? (formOf(text) === form ? text : JSON.stringify(value, null, 2))
  const change = (next: string) => {
    setText(next)
    try {
      take(JSON.parse(next))
      setProblem('')
    } catch (error) {
      editing.typeHalf(of, next)
      setProblem(String(error instanceof Error ? error.message : error))
    }
  }
  const isElsewhere = editing.state?.half !== undefined && half === undefined
  return { text: shown, problem: half === undefined ? '' : problem, change: isElsewhere ? undefined : change }
}

function formOf (text: string): string | undefined {
  try {
    return JSON.stringify(JSON.parse(text))
  } catch {
    return undefined
  }
}

function JsonTab ({ json: { text, problem, change }, label, children }: { readonly json: JsonText, readonly label: string, readonly children: ReactNode }) {
  return (
    <div className='stack'>
      <section className='panel'>
        <header>{children}</header>
        <Editor value={text} language='json' label={label} {...(change === undefined ? {} : { onChange: change })} />
      </section>
      {problem !== '' && <p className='note bad' role='status'>{problem}</p>}
    </div>
  )
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

/** The tab with all that a prompt uses, as a tree of links, and with the prompts that use this prompt. */
function UsesTab ({ id }: { readonly id: string }) {
  const needs = useQuery({
    queryKey: ['registry', 'needs', id],
    queryFn: () => take(api.GET('/api/prompts/{id}/needs', { params: { path: { id }, query: { label: 'latest' } } }))
  })
  return (
    <div className='split halves'>
      <section className='panel'>
        <header><h2>{t.needs}</h2></header>
        <div className='body'><Loaded query={needs}>{loaded => <Tree needs={loaded} />}</Loaded></div>
      </section>
      <UsedBy kind='prompts' id={id} />
    </div>
  )
}

function Tree ({ needs }: { readonly needs: Needs }) {
  if ([needs.variables, needs.environs, needs.tools, needs.partials].every(list => list.length === 0)) return <p className='quiet'>{t.needsNothing}</p>
  return (
    <ul className='tree'>
      <Branch
        name={t.variablesOfCaller} items={unique(needs.variables.map(({ path, required, in: partial }) => [
          path + String(partial),
          <span key={path}><code>{path}</code> {required && <span className='quiet'>{t.required}</span>} <In partial={partial} /></span>
        ]))}
      />
      <Branch
        name={t.variablesShared} items={unique(needs.environs.map(({ path, registered, in: partial }) => [
          path + String(partial),
          (
            <span key={path}>
              <Link href={`/environs/${encodeURIComponent(path)}`}><code>{path}</code></Link>
              {' '}
              {!registered && <span className='chip warn'>{t.notRegistered}</span>}
              {' '}
              <In partial={partial} />
            </span>
          )
        ]))}
      />
      <Branch
        name={t.tools} items={unique(needs.tools.map(({ name, id, arguments: given, in: partial }) => [
          name + given.join() + String(partial),
          (
            <span key={name}>
              {id === undefined ? <code>{name}</code> : <Link href={`/tools/${encodeURIComponent(id)}`}><code>{id}</code></Link>}
              {' '}
              <code className='quiet'>{given.join(' ')}</code>
              {' '}
              {id === undefined && <span className='chip warn'>{t.notRegistered}</span>}
              {' '}
              <In partial={partial} />
            </span>
          )
        ]))}
      />
      <Branch
        name={t.partials} items={unique(needs.partials.map(({ name, id, in: partial }) => [
          name + String(partial),
          (
            <span key={name}>
              {id === undefined ? <code>{name}</code> : <Link href={`/prompts/${encodeURIComponent(id)}`}><code>{id}</code></Link>}
              {' '}
              {id === undefined && <span className='chip warn'>{t.notRegistered}</span>}
              {' '}
              <In partial={partial} />
            </span>
          )
        ]))}
      />
    </ul>
  )
}

function Branch ({ name, items }: { readonly name: string, readonly items: readonly ReactNode[] }) {
  if (items.length === 0) return null
  return <li><h3>{name} <span className='quiet num'>{items.length}</span></h3><ul>{items.map((item, index) => <li key={index}>{item}</li>)}</ul></li>
}

function In ({ partial }: { readonly partial: string | undefined }) {
  return partial === undefined ? null : <span className='quiet'>{t.inPartial(partial)}</span>
}

/** Removes repeated items, since a prompt may use the same thing at several places. */
function unique (items: ReadonlyArray<readonly [string, ReactNode]>): readonly ReactNode[] {
  return [...new Map(items).values()]
}

/** The tab that shows how a program calls the prompt, at this address, with the values that were tried last. */
function UseItTab ({ id }: { readonly id: string }) {
  const labels = Object.keys(useReleases(id).data?.value.labels ?? {})
  const [label, setLabel] = useState('')
  const [name, setName] = useState('curl')
  const hasTokens = useCaller()?.mode === 'tokens'
  const call = { origin: location.origin, id: label === '' ? id : `${id}@${label}`, variables: readTried(id).variables, hasTokens }
  const text = SNIPPETS[name]?.(call) ?? ''
  return (
    <section className='panel'>
      <header>
        <h2>{t.tabUseIt}</h2>
        <select className='field auto' aria-label={t.program} value={name} onChange={event => { setName(event.target.value) }}>
          {Object.keys(SNIPPETS).map(each => <option key={each}>{each}</option>)}
        </select>
        <select className='field auto' aria-label={t.labelOfCall} value={label} onChange={event => { setLabel(event.target.value) }}>
          <option value=''>{t.withoutLabel}</option>
          {['latest', ...labels].map(each => <option key={each}>{each}</option>)}
        </select>
        <span className='grow' />
        <CopyButton text={text} />
      </header>
      <pre className='body text' tabIndex={0} aria-label={name}>{text}</pre>
      {hasTokens && <p className='hint inside'>{t.tokenOfCall}</p>}
    </section>
  )
}
