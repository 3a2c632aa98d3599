import { useEffect, useState } from 'react'
import { ApiError } from '../../api/api-error.ts'
import { useMay } from '../../api/caller.ts'
import { api, take, type Tagged } from '../../api/client.ts'
import { queries } from '../../api/queries.ts'
import { Editor } from '../../edit/editor.tsx'
import { mistakeInJson } from '../../edit/json-mode.ts'
import { Empty } from '../../parts/empty.tsx'
import { ErrorNote } from '../../parts/error-note.tsx'
import { Icon } from '../../parts/icons.tsx'
import { Loaded } from '../../parts/loading.tsx'
import { t } from '../../text/text.ts'
import { CaseList, Summary } from './case-list.tsx'
import { type Case, useRuns, useTests } from './use-tests.ts'

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
  const before = JSON.stringify(stored.value ?? FIRST, null, 2)
  const [text, setText] = useState(before)
  const [error, setError] = useState<unknown>()
  const [isSaving, setSaving] = useState(false)
  const mayWrite = useMay('write')
  useEffect(() => { setText(before) }, [before])
  const problem = mistakeInJson(text)
  const save = async () => {
    setSaving(true)
    setError(undefined)
    try {
      const header = stored.tag === undefined ? { 'if-none-match': '*' } : { 'if-match': stored.tag }
      await take(api.PUT('/api/prompts/{id}/tests', { params: { path: { id }, header }, body: JSON.parse(text) as never }))
    } catch (failure) {
      setError(failure)
      if (!(failure instanceof ApiError) || failure.status !== 412) return
    } finally {
      setSaving(false)
    }
    await queries.invalidateQueries({ queryKey: ['registry', 'tests', id] })
  }
  return (
    <section className='panel'>
      <header>
        <h2 className='mono'>shenma:tests:{id.replaceAll('.', ':')}</h2><span className='grow' />
        {mayWrite && (
          <button
            type='button'
            className='button small'
            disabled={isSaving || problem !== '' || (stored.value !== undefined && text === before)}
            onClick={() => { void save() }}
          >
            {t.save}
          </button>
        )}
      </header>
      <Editor value={text} language='json' label={t.tabTests} {...(mayWrite ? { onChange: setText } : {})} />
      {problem !== '' && <p className='hint bad inside' role='status'>{problem}</p>}
      {error !== undefined && <div className='body'><ErrorNote error={error} /></div>}
    </section>
  )
}
