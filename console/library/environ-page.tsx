import { useQuery } from '@tanstack/react-query'
import { useMemo, useRef, useState } from 'react'
import { Link, useLocation } from 'wouter'
import { useMay } from '../api/caller.ts'
import { api, takeTagged } from '../api/client.ts'
import { readEnviron } from '../api/environ.ts'
import type { Tagged } from '../api/tagged.ts'
import { queries } from '../api/queries.ts'
import { Conflict } from '../edit/conflict.tsx'
import { Editor } from '../edit/editor.tsx'
import { mistakeInJson } from '../edit/json-mode.ts'
import { OtherTexts } from '../edit/other-texts.tsx'
import { useEdited } from '../edit/use-edited.ts'
import { ErrorNote } from '../parts/error-note.tsx'
import { Loaded } from '../parts/loading.tsx'
import { PageTitle } from '../parts/page-title.tsx'
import { bytes } from '../parts/time.ts'
import { t } from '../text/text.ts'
import { UsedBy } from './used-by.tsx'

/** The page of one shared variable: its value, and the prompts that use it. */
export function EnvironPage ({ id }: { readonly id: string }) {
  const query = useQuery({ queryKey: ['registry', 'environ', id], queryFn: () => readEnviron(id) })
  return (
    <>
      <PageTitle title={id} mono crumbs={<Link href='/environs'>{t.variables}</Link>}>
        {query.data?.tag !== undefined && (
          <RemoveButton
            name={id}
            remove={() => takeTagged(api.DELETE('/api/environs/{id}', { params: { path: { id }, header: { 'if-match': query.data?.tag as string } } }))}
            to='/environs'
          />
        )}
      </PageTitle>
      <Loaded query={query}>
        {environ => (
          <div className='split halves'>
            <Value id={id} environ={environ} />
            <UsedBy kind='environs' id={id} />
          </div>
        )}
      </Loaded>
    </>
  )
}

function Value ({ id, environ }: { readonly id: string, readonly environ: Tagged<unknown> }) {
  const mayWrite = useMay('write')
  const editing = useEdited<string>({
    name: `environ ${id}`,
    stored: useMemo(() => textOf(environ), [environ]),
    read: async () => textOf(await readEnviron(id)),
    put: async (text, tag) => {
      const header = tag === undefined ? { 'if-none-match': '*' } : { 'if-match': tag }
      const reply = await takeTagged(api.PUT('/api/environs/{id}', { params: { path: { id }, header }, body: JSON.parse(text) as never }))
      void queries.invalidateQueries({ queryKey: ['registry'] })
      return reply.tag
    }
  })
  const { state, error, isChanged, isSaving } = editing
  if (state === undefined) return null
  if (state.isRefused && state.theirs !== undefined) return <Conflict editing={editing} state={{ ...state, theirs: state.theirs }} textOf={text => text} />
  // The service shows the variables below this path. The path itself has no value that could be edited.
  const isBranch = environ.tag === undefined && environ.value !== undefined
  const problem = mistakeInJson(state.mine)
  return (
    <section className='panel'>
      <header>
        <h2>{t.value}</h2>
        <span className='quiet num'>
          {typeOf(environ.value)}
          {environ.value !== undefined && `, ${bytes(new TextEncoder().encode(state.base.value).length)}`}
        </span>
        <span className='grow' />
        {mayWrite && !isBranch && (
          <button type='button' className='button primary small' disabled={isSaving || !isChanged || problem !== ''} onClick={() => { void editing.save() }}>
            {t.save}
          </button>
        )}
      </header>
      <OtherTexts editing={editing} />
      <Editor value={state.mine} language='json' label={t.value} {...(mayWrite && !isBranch ? { onChange: editing.type } : {})} />
      {isBranch && <p className='hint inside'>{t.branchHint}</p>}
      {state.mine !== '' && problem !== '' && <p className='hint bad inside' role='status'>{problem}</p>}
      {error !== undefined && <div className='body'><ErrorNote error={error} /></div>}
    </section>
  )
}

function textOf ({ value, tag }: Tagged<unknown>): Tagged<string> {
  return { value: value === undefined ? '' : JSON.stringify(value, null, 2), tag }
}

function typeOf (value: unknown): string {
  return value === undefined ? t.notStored : Array.isArray(value) ? t.typeList(value.length) : value === null ? 'null' : typeof value
}

/** Removes an entry from the registry, once the user has typed its name. @param to path of the screen that is shown afterwards */
function RemoveButton ({ name, remove, to }: { readonly name: string, readonly remove: () => Promise<unknown>, readonly to: string }) {
  const dialog = useRef<HTMLDialogElement>(null)
  const [typed, setTyped] = useState('')
  const [error, setError] = useState<unknown>()
  const mayWrite = useMay('write')
  const [, go] = useLocation()
  if (!mayWrite) return null
  const act = async () => {
    try {
      await remove()
      await queries.invalidateQueries({ queryKey: ['registry'] })
      go(to)
    } catch (failure) {
      setError(failure)
    }
  }
  return (
    <>
      <button type='button' className='button danger' onClick={() => { setTyped(''); dialog.current?.showModal() }}>{t.withdraw}</button>
      <dialog ref={dialog} aria-labelledby='remove-title'>
        <form className='stack' onSubmit={event => { event.preventDefault(); void act() }}>
          <h2 id='remove-title' className='wrap'>{t.withdrawTitle(name)}</h2>
          <p>{t.withdrawHint}</p>
          <div>
            <label htmlFor='remove-name'>{t.typeToConfirm} <code>{name}</code></label>
            <input
              id='remove-name'
              className='field mono'
              autoComplete='off'
              spellCheck={false}
              value={typed}
              onChange={event => { setTyped(event.target.value) }}
            />
          </div>
          {error !== undefined && <ErrorNote error={error} />}
          <div className='row'>
            <button className='button danger' disabled={typed !== name}>{t.withdraw}</button>
            <button type='button' className='button plain' onClick={() => { dialog.current?.close() }}>{t.cancel}</button>
          </div>
        </form>
      </dialog>
    </>
  )
}
