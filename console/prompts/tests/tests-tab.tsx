import { useMemo } from 'react'
import { useMay } from '../../api/caller.ts'
import { api, takeTagged } from '../../api/client.ts'
import type { Tagged } from '../../api/tagged.ts'
import { queries } from '../../api/queries.ts'
import { Conflict } from '../../edit/conflict.tsx'
import { Editor } from '../../edit/editor.tsx'
import { mistakeInJson } from '../../edit/json-mode.ts'
import { OtherTexts } from '../../edit/other-texts.tsx'
import { useEdited } from '../../edit/use-edited.ts'
import { Empty } from '../../parts/empty.tsx'
import { ErrorNote } from '../../parts/error-note.tsx'
import { Icon } from '../../parts/icons.tsx'
import { Loaded } from '../../parts/loading.tsx'
import { t } from '../../text/text.ts'
import { CaseList, Summary } from './case-list.tsx'
import { type Case, readTests, useRuns, useTests } from './use-tests.ts'

/** The example of a test that the editor shows for a prompt without tests. */
const FIRST = [{ description: 'renders', vars: {}, assert: [{ type: 'not-contains', value: '{{' }] }]

/** The tab with the tests of a prompt: the test cases with their results, and an editor for the cases. */
export function TestsTab ({ id, isDraft }: { readonly id: string, readonly isDraft: boolean }) {
  const query = useTests(id)
  return (
    <Loaded query={query}>
      {stored => (
        <div className='split halves'>
          <Runs id={id} cases={stored.value ?? []} isDraft={isDraft} />
          <Written id={id} stored={stored} />
        </div>
      )}
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

function Written ({ id, stored }: { readonly id: string, readonly stored: Tagged<readonly Case[] | undefined> }) {
  const mayWrite = useMay('write')
  const editing = useEdited<string>({
    name: `tests ${id}`,
    stored: useMemo(() => textOf(stored), [stored]),
    read: async () => textOf(await readTests(id)),
    put: async (text, tag) => {
      const header = tag === undefined ? { 'if-none-match': '*' } : { 'if-match': tag }
      const reply = await takeTagged(api.PUT('/api/prompts/{id}/tests', { params: { path: { id }, header }, body: JSON.parse(text) as never }))
      void queries.invalidateQueries({ queryKey: ['registry', 'tests', id] })
      return reply.tag
    }
  })
  const { state, error, isChanged, isSaving } = editing
  if (state === undefined) return null
  if (state.isRefused && state.theirs !== undefined) return <Conflict editing={editing} state={{ ...state, theirs: state.theirs }} textOf={text => text} />
  const problem = mistakeInJson(state.mine)
  return (
    <section className='panel'>
      <header>
        <h2 className='mono'>shenma:tests:{id.replaceAll('.', ':')}</h2><span className='grow' />
        {mayWrite && (
          <button
            type='button'
            className='button small'
            disabled={isSaving || problem !== '' || (state.base.tag !== undefined && !isChanged)}
            onClick={() => { void editing.save() }}
          >
            {t.save}
          </button>
        )}
      </header>
      <OtherTexts editing={editing} />
      <Editor value={state.mine} language='json' label={t.tabTests} {...(mayWrite ? { onChange: editing.type } : {})} />
      {problem !== '' && <p className='hint bad inside' role='status'>{problem}</p>}
      {error !== undefined && <div className='body'><ErrorNote error={error} /></div>}
    </section>
  )
}

/** A prompt without tests gets an example, which is not stored. */
function textOf ({ value, tag }: Tagged<readonly Case[] | undefined>): Tagged<string> {
  return { value: JSON.stringify(value ?? FIRST, null, 2), tag }
}
