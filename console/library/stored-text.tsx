import { useQuery } from '@tanstack/react-query'
import { useMay } from '../api/caller.ts'
import { api, takeTagged } from '../api/client.ts'
import { queries } from '../api/queries.ts'
import { Conflict } from '../edit/conflict.tsx'
import { Editor } from '../edit/editor.tsx'
import { mistakeInJson } from '../edit/json-mode.ts'
import { OtherTexts } from '../edit/other-texts.tsx'
import { useEdited } from '../edit/use-edited.ts'
import { ErrorNote } from '../parts/error-note.tsx'
import { t } from '../text/text.ts'

/** What is stored of an entry that cannot be read, as the text that it is, to be mended. @param error says what is wrong with it */
export function StoredText ({ kind, id, error }: { readonly kind: 'prompts' | 'environs', readonly id: string, readonly error: unknown }) {
  const mayWrite = useMay('write')
  const params = { path: { id } }
  const address = `/api/${kind}/{id}` as const
  const query = useQuery({
    queryKey: ['registry', 'stored', kind, id],
    queryFn: () => takeTagged(api.GET(`${address}/stored`, { params, parseAs: 'text' })),
    enabled: mayWrite
  })
  const editing = useEdited<string>({
    name: `stored ${kind} ${id}`,
    stored: query.data,
    read: () => takeTagged(api.GET(`${address}/stored`, { params, parseAs: 'text' })),
    put: async (text, tag) => {
      const header = tag === undefined ? { 'if-none-match': '*' } : { 'if-match': tag }
      const reply = await takeTagged(api.PUT(address, { params: { ...params, header }, body: {}, bodySerializer: () => text }))
      void queries.invalidateQueries({ queryKey: ['registry'] })
      return reply.tag
    }
  })
  const { state, isSaving, isChanged } = editing
  if (state?.theirs !== undefined && state.isRefused) return <Conflict editing={editing} state={{ ...state, theirs: state.theirs }} textOf={text => text} />
  const problem = state === undefined ? '' : mistakeInJson(state.mine)
  return (
    <div className='stack'>
      <ErrorNote error={error} />
      {query.error !== null && <ErrorNote error={query.error} onRetry={() => { void query.refetch() }} />}
      {state !== undefined && (
        <section className='panel'>
          <header>
            <h2>{t.storedText}</h2>
            <span className='grow' />
            <button type='button' className='button primary small' disabled={isSaving || !isChanged || problem !== ''} onClick={() => { void editing.save() }}>
              {t.save}
            </button>
          </header>
          <OtherTexts editing={editing} />
          <Editor value={state.mine} language='json' label={t.storedText} onChange={text => { editing.type(text) }} />
          {problem !== '' && <p className='hint bad inside' role='status'>{problem}</p>}
          {editing.error !== undefined && <div className='body'><ErrorNote error={editing.error} /></div>}
        </section>
      )}
    </div>
  )
}
