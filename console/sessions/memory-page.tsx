import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { api, take } from '../api/client.ts'
import { queries } from '../api/queries.ts'
import { ErrorNote } from '../parts/error-note.tsx'
import { Loaded } from '../parts/loading.tsx'
import { PageTitle } from '../parts/page-title.tsx'
import { Revealed } from '../parts/reveal.tsx'
import { t } from '../text/text.ts'

/**
 * A field of memory (stored preferences). `values` are the possible values; a field without them is a text, or a list of texts that is
 * edited with one text on each line.
 */
interface MemoryField { readonly name: string, readonly values?: readonly string[] | readonly number[] }

/** All fields of memory that the service accepts (docs/plans.md). */
const MEMORY_FIELDS: { readonly user: readonly MemoryField[], readonly project: readonly MemoryField[] } = {
  user: [
    { name: 'user.preferred_style', values: ['brief', 'normal', 'verbose'] },
    { name: 'user.ask_budget', values: [0, 1, 2] },
    { name: 'user.risk_tolerance', values: ['low', 'medium', 'high'] },
    { name: 'user.default_language' },
    { name: 'user.output_format', values: ['patch_first', 'plan_first', 'plan', 'apply'] }
  ],
  project: [
    'default_test_command',
    'default_lint_command',
    'default_format_command',
    'build_command',
    'package_manager',
    'ci_notes',
    'src_roots',
    'test_roots'
  ].map(name => ({ name: `project.${name}` }))
}

/** The page of memory: the stored preferences of the caller, and of one workspace. */
export function MemoryPage () {
  const workspaces = useQuery({ queryKey: ['workspaces'], queryFn: () => take(api.GET('/api/workspaces', {})) }).data ?? []
  const [chosen, setWorkspace] = useState<string>()
  const workspace = chosen ?? workspaces[0]?.name
  const user = useQuery({ queryKey: ['memory'], queryFn: async () => await take(api.GET('/api/memory/user', {})) as Readonly<Record<string, unknown>> })
  const project = useQuery({
    queryKey: ['memory', workspace],
    enabled: workspace !== undefined,
    queryFn: async () => {
      const query = { workspace: workspace as string }
      return await take(api.GET('/api/memory/project', { params: { query } })) as Readonly<Record<string, unknown>>
    }
  })
  return (
    <>
      <PageTitle title={t.memory} note={t.memoryNote} />
      <div className='split halves'>
        <section className='panel'>
          <header><h2>{t.memoryOfYou}</h2></header>
          <Loaded query={user}>
            {values => <Fields fields={MEMORY_FIELDS.user} values={values} save={patch => take(api.PATCH('/api/memory/user', { body: patch }))} />}
          </Loaded>
        </section>
        {workspace !== undefined && (
          <section className='panel'>
            <header>
              <h2>{t.memoryOfProject}</h2>
              <span className='grow' />
              <select className='field auto' aria-label={t.workspace} value={workspace} onChange={event => { setWorkspace(event.target.value) }}>
                {workspaces.map(({ name }) => <option key={name}>{name}</option>)}
              </select>
            </header>
            <Loaded query={project}>
              {values => (
                <Fields
                  key={workspace}
                  fields={MEMORY_FIELDS.project}
                  values={values}
                  save={patch => take(api.PATCH('/api/memory/project', { params: { query: { workspace } }, body: patch }))}
                />
              )}
            </Loaded>
            <p className='hint inside'>{t.nothingRuns}</p>
          </section>
        )}
      </div>
    </>
  )
}

function Fields ({ fields, values, save }: {
  readonly fields: readonly MemoryField[]
  readonly values: Readonly<Record<string, unknown>>
  readonly save: (patch: Record<string, never>) => Promise<unknown>
}) {
  const [error, setError] = useState<unknown>()
  const change = async (name: string, value: unknown) => {
    try {
      setError(undefined)
      await save({ [name]: value } as Record<string, never>)
      await queries.invalidateQueries({ queryKey: ['memory'] })
    } catch (failure) {
      setError(failure)
    }
  }
  return (
    <div className='body stack'>
      {error !== undefined && <ErrorNote error={error} />}
      {fields.map(field => (
        <Field
          key={field.name}
          field={field}
          value={values[field.name.slice(field.name.indexOf('.') + 1)] ?? values[field.name]}
          change={value => { void change(field.name, value) }}
        />
      ))}
    </div>
  )
}

function Field ({ field: { name, values }, value, change }: {
  readonly field: MemoryField
  readonly value: unknown
  readonly change: (value: unknown) => void
}) {
  const shown = Array.isArray(value) ? value.join('\n') : value === undefined ? '' : String(value)
  const [text, setText] = useState(shown)
  const id = `m-${name}`
  const isList = name.endsWith('_roots')
  return (
    <div>
      <label htmlFor={id}>{name}</label>
      <div className='row'>
        {values !== undefined
          ? (
            <select
              id={id}
              className='field'
              value={shown}
              onChange={event => { change(event.target.value === '' ? null : typeof values[0] === 'number' ? Number(event.target.value) : event.target.value) }}
            >
              <option value='' />
              {values.map(each => <option key={each}>{each}</option>)}
            </select>
            )
          : <textarea id={id} className='field growing' rows={1} value={text} onChange={event => { setText(event.target.value) }} />}
        {values === undefined && text !== shown && (
          <button type='button' className='button small' onClick={() => { change(isList ? text.split('\n').filter(line => line !== '') : text) }}>
            {t.save}
          </button>
        )}
        {value !== undefined && <button type='button' className='button plain small' onClick={() => { setText(''); change(null) }}>{t.forget}</button>}
      </div>
      {values === undefined && value !== undefined && <p className='unseen'><Revealed text={shown} /></p>}
    </div>
  )
}
