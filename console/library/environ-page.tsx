import { useQuery } from '@tanstack/react-query'
import { useMemo, useRef, useState } from 'react'
import { Link, useLocation } from 'wouter'
import { isUnreadable } from '../api/api-error.ts'
import { useMay } from '../api/caller.ts'
import { api, takeTagged } from '../api/client.ts'
import { readEnviron } from '../api/environ.ts'
import type { Tagged } from '../api/tagged.ts'
import { queries } from '../api/queries.ts'
import { Conflict } from '../edit/conflict.tsx'
import { Editor } from '../edit/editor.tsx'
import { OtherTexts } from '../edit/other-texts.tsx'
import { useEdited } from '../edit/use-edited.ts'
import { ErrorNote } from '../parts/error-note.tsx'
import { TypedName } from '../parts/fields.tsx'
import { Loaded } from '../parts/loading.tsx'
import { PageTitle } from '../parts/page-title.tsx'
import { bytes } from '../parts/time.ts'
import { t } from '../text/text.ts'
import { StoredText } from './stored-text.tsx'
import { asKind, jsonOf, KINDS, mistakeIn, type TypedValue, typedFrom } from './typed-value.ts'
import { UsedBy, Users } from './used-by.tsx'

/** The page of one shared variable: its value, and the prompts that use it. */
export function EnvironPage ({ id }: { readonly id: string }) {
  const query = useQuery({ queryKey: ['registry', 'environ', id], queryFn: () => readEnviron(id) })
  return (
    <>
      <PageTitle title={id} mono crumbs={<Link href='/environs'>{t.variables}</Link>}>
        {query.data?.tag !== undefined && <RemoveButton id={id} tag={query.data.tag} />}
      </PageTitle>
      {isUnreadable(query.error) && <StoredText kind='environs' id={id} error={query.error} />}
      {!isUnreadable(query.error) && (
        <Loaded query={query}>
          {environ => (
            <div className='split halves'>
              <Value id={id} environ={environ} />
              <UsedBy kind='environs' id={id} />
            </div>
          )}
        </Loaded>
      )}
    </>
  )
}

function Value ({ id, environ }: { readonly id: string, readonly environ: Tagged<string | undefined> }) {
  const mayWrite = useMay('write')
  const editing = useEdited<TypedValue>({
    name: `value ${id}`,
    stored: useMemo(() => typedFrom(environ), [environ]),
    read: async () => typedFrom(await readEnviron(id)),
    put: async (typed, tag) => {
      const header = tag === undefined ? { 'if-none-match': '*' } : { 'if-match': tag }
      const reply = await takeTagged(api.PUT('/api/environs/{id}', { params: { path: { id }, header }, body: {}, bodySerializer: () => jsonOf(typed) }))
      void queries.invalidateQueries({ queryKey: ['registry'] })
      return reply.tag
    }
  })
  const { state, error, isChanged, isSaving } = editing
  if (state === undefined) return null
  if (state.isRefused && state.theirs !== undefined) {
    return <Conflict editing={editing} state={{ ...state, theirs: state.theirs }} textOf={({ text }) => text} />
  }
  // The service shows the variables below this path. The path itself has no value that could be edited.
  const isBranch = environ.tag === undefined && environ.value !== undefined
  const isEditable = mayWrite && !isBranch
  const { mine, base } = state
  const problem = mistakeIn(mine)
  return (
    <section className='panel'>
      <header>
        <h2>{t.value}</h2>
        <select
          className='field auto'
          aria-label={t.type}
          value={mine.kind}
          disabled={!isEditable}
          onChange={event => { editing.type(asKind(mine, event.target.value as TypedValue['kind'])) }}
        >
          {KINDS.map(kind => <option key={kind} value={kind}>{t.kindOfValue(kind)}</option>)}
        </select>
        <span className='quiet num'>
          {environ.value === undefined ? t.notStored : bytes(new TextEncoder().encode(base.value.text).length)}
        </span>
        <span className='grow' />
        {isEditable && (
          <button type='button' className='button primary small' disabled={isSaving || !isChanged || problem !== ''} onClick={() => { void editing.save() }}>
            {t.save}
          </button>
        )}
      </header>
      <OtherTexts editing={editing} />
      <ValueInput typed={mine} onChange={isEditable ? editing.type : undefined} />
      {isBranch && <p className='hint inside'>{t.branchHint}</p>}
      {mine.kind === 'text' && <p className='hint inside'>{t.textAsTyped}</p>}
      {isChanged && problem !== '' && <p className='hint bad inside' role='status'>{problem}</p>}
      {error !== undefined && <div className='body'><ErrorNote error={error} /></div>}
    </section>
  )
}

/** A field that suits the type of the value. */
function ValueInput ({ typed: { kind, text }, onChange }: { readonly typed: TypedValue, readonly onChange: ((typed: TypedValue) => void) | undefined }) {
  const change = (next: string) => { onChange?.({ kind, text: next }) }
  if (kind === 'json') return <Editor key='json' value={text} language='json' label={t.value} {...(onChange === undefined ? {} : { onChange: change })} />
  return (
    <div className='body'>
      {kind === 'text'
        ? (
          <textarea
            className='field'
            rows={Math.min(24, Math.max(4, text.split('\n').length + 1))}
            aria-label={t.value}
            readOnly={onChange === undefined}
            value={text}
            onChange={event => { change(event.target.value) }}
          />
          )
        : kind === 'number'
          ? (
            <input
              className='field num'
              inputMode='decimal'
              aria-label={t.value}
              readOnly={onChange === undefined}
              value={text}
              onChange={event => { change(event.target.value) }}
            />
            )
          : (
            <select
              className='field auto'
              aria-label={t.value}
              disabled={onChange === undefined}
              value={text}
              onChange={event => { change(event.target.value) }}
            >
              {text !== 'true' && text !== 'false' && <option value={text}>{text}</option>}
              <option value='true'>{t.yes}</option>
              <option value='false'>{t.no}</option>
            </select>
            )}
    </div>
  )
}

/** Deletes the variable, once the user has seen what uses it and has typed its name. Variables have no versions, so this is for good. */
function RemoveButton ({ id, tag }: { readonly id: string, readonly tag: string }) {
  const dialog = useRef<HTMLDialogElement>(null)
  const [isOpen, setOpen] = useState(false)
  const [typed, setTyped] = useState('')
  const [error, setError] = useState<unknown>()
  const mayWrite = useMay('write')
  const [, go] = useLocation()
  if (!mayWrite) return null
  const open = () => {
    setTyped('')
    setError(undefined)
    setOpen(true)
    dialog.current?.showModal()
  }
  const act = async () => {
    try {
      await takeTagged(api.DELETE('/api/environs/{id}', { params: { path: { id }, header: { 'if-match': tag } } }))
      await queries.invalidateQueries({ queryKey: ['registry'] })
      go('/environs')
    } catch (failure) {
      setError(failure)
    }
  }
  return (
    <>
      <button type='button' className='button danger' onClick={open}>{t.withdraw}</button>
      <dialog ref={dialog} className='broad' aria-labelledby='remove-title' onClose={() => { setOpen(false) }}>
        <form className='stack' onSubmit={event => { event.preventDefault(); void act() }}>
          <h2 id='remove-title' className='wrap'>{t.withdrawTitle(id)}</h2>
          <section className='stack tight' aria-label={t.wouldBreak}>
            <h3>{t.wouldBreak}</h3>
            <div className='users'>{isOpen && <Users kind='environs' id={id} />}</div>
          </section>
          <p>{t.withdrawHint}</p>
          <TypedName name={id} value={typed} onChange={setTyped} />
          {error !== undefined && <ErrorNote error={error} />}
          <div className='row'>
            <button className='button danger' disabled={typed !== id}>{t.withdraw}</button>
            <button type='button' className='button plain' onClick={() => { dialog.current?.close() }}>{t.cancel}</button>
          </div>
        </form>
      </dialog>
    </>
  )
}
