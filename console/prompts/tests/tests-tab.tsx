import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { useMay } from '../../api/caller.ts'
import { api, take } from '../../api/client.ts'
import type { Tagged } from '../../api/tagged.ts'
import { Conflict } from '../../edit/conflict.tsx'
import { Editor } from '../../edit/editor.tsx'
import { mistakeInJson } from '../../edit/json-mode.ts'
import { OtherTexts } from '../../edit/other-texts.tsx'
import { type Editing, useEdited } from '../../edit/use-edited.ts'
import { Empty } from '../../parts/empty.tsx'
import { ErrorNote } from '../../parts/error-note.tsx'
import { Icon } from '../../parts/icons.tsx'
import { Loaded } from '../../parts/loading.tsx'
import { t } from '../../text/text.ts'
import { fieldsOf } from '../parameters.ts'
import { CaseList, Summary } from './case-list.tsx'
import { type Case, putTests, readTests, useRuns, useTests } from './use-tests.ts'
import { lazyPart } from '../../parts/lazy-part.tsx'

/** The example of a test that the editor shows for a prompt without tests. */
const FIRST = [{ description: 'renders', vars: {}, assert: [{ type: 'not-contains', value: '{{' }] }]

const CasesForm = lazyPart(async () => (await import('./case-form.tsx')).CasesForm)

/** The tab with the tests of a prompt: the test cases with their results, and a form and an editor for them. @param parameters of the draft */
export function TestsTab ({ id, isDraft, parameters }: { readonly id: string, readonly isDraft: boolean, readonly parameters: unknown }) {
  const query = useTests(id)
  return (
    <Loaded query={query}>
      {stored => <Tests id={id} stored={stored} isDraft={isDraft} parameters={parameters} />}
    </Loaded>
  )
}

function Runs ({ id, cases, isDraft }: { readonly id: string, readonly cases: readonly Case[], readonly isDraft: boolean }) {
  const mayWrite = useMay('write')
  const { outcomes, run, isRunning } = useRuns(id)
  if (cases.length === 0) return <Empty title={t.testsNone}>{t.testsNoneNext}</Empty>
  return (
    <section className='panel' aria-label={t.cases}>
      <header>
        <h2>{t.cases}</h2> <Summary cases={cases} outcomes={outcomes} /><span className='grow' />
        {mayWrite && (
          <button type='button' className='button primary small' disabled={isRunning} onClick={() => { void run(cases) }}>
            <Icon name='play' />
            {t.runTests}
          </button>
        )}
      </header>
      {isDraft && <p className='hint inside'>{t.testsOfSaved}</p>}
      <CaseList cases={cases} outcomes={outcomes} />
    </section>
  )
}

function Tests ({ id, stored, isDraft, parameters }: {
  readonly id: string
  readonly stored: Tagged<readonly Case[] | undefined>
  readonly isDraft: boolean
  readonly parameters: unknown
}) {
  const mayWrite = useMay('write')
  const needs = useQuery({ queryKey: ['registry', 'needs', id], queryFn: () => take(api.GET('/api/prompts/{id}/needs', { params: { path: { id } } })) })
  const editing = useEdited<string>({
    name: `tests ${id}`,
    stored: useMemo(() => textOf(stored), [stored]),
    read: async () => textOf(await readTests(id)),
    put: (text, tag) => putTests(id, JSON.parse(text), tag)
  })
  const { state } = editing
  if (state === undefined) return null
  if (state.isRefused && state.theirs !== undefined) return <Conflict editing={editing} state={{ ...state, theirs: state.theirs }} textOf={text => text} />
  const cases = casesIn(state.mine)
  return (
    <div className='split halves'>
      <div className='stack'>
        <Runs id={id} cases={stored.value ?? []} isDraft={isDraft || editing.isChanged} />
        {cases === undefined
          ? <p className='note'>{t.casesUnreadable}</p>
          : (
            <>
              <CasesForm
                cases={cases}
                fields={fieldsOf(parameters, needs.data?.variables)}
                half={state.half}
                onHalf={(of, text) => { editing.typeHalf(of, text) }}
                onChange={mayWrite ? next => { editing.type(JSON.stringify(next, null, 2)) } : undefined}
              />
            </>
            )}
      </div>
      <Written id={id} editing={editing} />
    </div>
  )
}

/** The cases of a text that is a list; `undefined` for any other text. */
function casesIn (text: string): readonly unknown[] | undefined {
  if (mistakeInJson(text) !== '') return undefined
  const value: unknown = JSON.parse(text)
  return Array.isArray(value) ? value : undefined
}

/** The cases as JSON, and the button that saves them. */
function Written ({ id, editing }: { readonly id: string, readonly editing: Editing<string> }) {
  const mayWrite = useMay('write')
  const { state, error, isChanged, isSaving } = editing
  if (state === undefined) return null
  const problem = mistakeInJson(state.mine)
  const isHalf = state.half !== undefined
  return (
    <section className='panel'>
      <header>
        <h2 className='mono wrap'>shenma:tests:{id.replaceAll('.', ':')}</h2><span className='grow' />
        {mayWrite && (
          <button
            type='button'
            className='button small'
            disabled={isSaving || isHalf || problem !== '' || (state.base.tag !== undefined && !isChanged)}
            onClick={() => { void editing.save() }}
          >
            {t.save}
          </button>
        )}
      </header>
      <OtherTexts editing={editing} />
      <Editor value={state.mine} language='json' label={t.tabTests} {...(mayWrite && !isHalf ? { onChange: editing.type } : {})} />
      {problem !== '' && <p className='hint bad inside' role='status'>{problem}</p>}
      {error !== undefined && <div className='body'><ErrorNote error={error} /></div>}
    </section>
  )
}

/** A prompt without tests gets an example, which is not stored. */
function textOf ({ value, tag }: Tagged<readonly Case[] | undefined>): Tagged<string> {
  return { value: JSON.stringify(value ?? FIRST, null, 2), tag }
}
