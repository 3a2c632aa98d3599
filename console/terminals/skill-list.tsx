import { useQuery } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import { api, take, takePage } from '../api/client.ts'
import { words } from '../api/listings.ts'
import { useSending } from '../api/sending.ts'
import { Empty } from '../parts/empty.tsx'
import { ErrorNote } from '../parts/error-note.tsx'
import { TextField } from '../parts/fields.tsx'
import { Loaded } from '../parts/loading.tsx'
import { Revealed } from '../parts/reveal.tsx'
import { t } from '../text/text.ts'

interface Parameter { readonly name: string, readonly description?: string, readonly required?: boolean }

/** A skill that can be started in a terminal: a registered one, or one that was found on the terminal's target. */
interface OfferedSkill {
  readonly id: string
  readonly description: string
  /** The parameters of the skill; `undefined` until its definition was read. */
  readonly params: readonly Parameter[] | undefined
  /** Where on the target the skill was found; left out for a registered skill. */
  readonly place?: { readonly skillPath: string, readonly skillSource: 'project' | 'remote' }
}

interface SkillListProps {
  readonly terminal: string
  readonly target: string | undefined
  readonly onClose: () => void
  /** Called when a skill has begun. @param session id of the skill's session */
  readonly onStarted: (session: string) => void
}

/** A dialog that lists the skills, each with its parameters and a button that starts it in the terminal. */
export function SkillList ({ terminal, target, onClose, onStarted }: SkillListProps) {
  const dialog = useRef<HTMLDialogElement>(null)
  const query = useQuery({ queryKey: ['registry', 'skills-of', target], queryFn: () => listSkills(target) })
  useEffect(() => { dialog.current?.showModal() }, [])
  return (
    <dialog ref={dialog} className='skills' aria-labelledby='skills-title' onClose={onClose}>
      <div className='stack'>
        <div className='row'>
          <h2 id='skills-title' className='grow'>{t.skills}</h2>
          <button type='button' className='button plain small' onClick={() => { dialog.current?.close() }}>{t.close}</button>
        </div>
        <Loaded query={query}>
          {skills => skills.length === 0
            ? <Empty title={t.skills}>{t.skillsNone}</Empty>
            : (
              <ul className='panel'>
                {skills.map(skill => <Offered key={`${skill.place?.skillPath ?? ''} ${skill.id}`} skill={skill} terminal={terminal} onStarted={onStarted} />)}
              </ul>
              )}
        </Loaded>
      </div>
    </dialog>
  )
}

function Offered ({ skill: { id, description, params: known, place }, terminal, onStarted }: Pick<SkillListProps, 'terminal' | 'onStarted'> & {
  readonly skill: OfferedSkill
}) {
  const [params, setParams] = useState<readonly Parameter[]>()
  const [values, setValues] = useState<Readonly<Record<string, string>>>({})
  const { error, isBusy, send } = useSending()
  const press = () => send(JSON.stringify(values), async ({ header, signal }) => {
    if (params === undefined) {
      const asked = known ?? await readParameters(id)
      setParams(asked)
      if (asked.length > 0) return
    }
    const given = Object.fromEntries(Object.entries(values).filter(([, value]) => value !== ''))
    const body = { skillId: id, ...place, terminalSessionId: terminal, params: given, execution: 'approve' as const, autoContinue: true }
    const { data } = await take(api.POST('/api/skills/start', { params: { header }, body, signal }))
    onStarted(data.skillSessionId)
  })
  return (
    <li className='item'>
      <form className='stack tight' onSubmit={event => { event.preventDefault(); void press() }}>
        <div className='row'>
          <b className='grow wrap'><Revealed text={id} /></b>
          <button className='button small' disabled={isBusy} aria-label={t.startNamed(id)}>{t.startIt}</button>
        </div>
        <p className='hint wrap'><Revealed text={description} /></p>
        {params?.map(({ name, description: hint, required = false }) => (
          <TextField
            key={name}
            id={`s-${id}-${name}`}
            label={name}
            hint={hint}
            isRequired={required}
            value={values[name] ?? ''}
            onChange={value => { setValues(before => ({ ...before, [name]: value })) }}
          />
        ))}
        {error !== undefined && <ErrorNote error={error} isSent />}
      </form>
    </li>
  )
}

/** Lists the registered skills, then those that were found on the target. */
async function listSkills (target: string | undefined): Promise<readonly OfferedSkill[]> {
  const [registered, found] = await Promise.all([
    takePage<{ readonly id: string, readonly description?: unknown }>(api.GET('/api/skills', { params: { query: { detail: true, limit: 200 } } })),
    target === undefined ? undefined : take(api.GET('/api/targets/{name}/skills', { params: { path: { name: target } } })).catch(() => undefined)
  ])
  return [
    ...registered.rows.map(({ id, description }) => ({ id, description: words(description), params: undefined })),
    ...(found?.skills ?? []).map(({ id, description, params, path, source }) => ({ id, description, params, place: { skillPath: path, skillSource: source } }))
  ]
}

async function readParameters (id: string): Promise<readonly Parameter[]> {
  const { params = [] } = await take(api.GET('/api/skills/definitions/{id}', { params: { path: { id } } })) as { readonly params?: readonly Parameter[] }
  return params
}
