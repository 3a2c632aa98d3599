import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { api, take } from '../../api/client.ts'
import { ErrorNote } from '../../parts/error-note.tsx'
import { Loaded } from '../../parts/loading.tsx'
import { Revealed } from '../../parts/reveal.tsx'
import { t } from '../../text/text.ts'
import { OtherWays, quoted } from './other-ways.tsx'
import { useStart } from './use-start.ts'

interface Skill { readonly description?: string, readonly body?: string, readonly params?: ReadonlyArray<{ readonly name: string, readonly description?: string, readonly required?: boolean }>, readonly maxSteps?: number, readonly execution?: Execution, readonly target?: string }
type Execution = 'manual' | 'approve' | 'auto'

/** The form of a skill: its parameters, some words more, where its commands run, and who lets them. */
export function StartSkill ({ id }: { readonly id: string }) {
  const query = useQuery({ queryKey: ['registry', 'skill', id], queryFn: async () => await take(api.GET('/api/skills/definitions/{id}', { params: { path: { id } } })) as Skill })
  return <Loaded query={query}>{skill => <SkillForm id={id} skill={skill} />}</Loaded>
}

function SkillForm ({ id, skill }: { readonly id: string, readonly skill: Skill }) {
  const targets = useQuery({ queryKey: ['targets'], queryFn: () => take(api.GET('/api/targets', {})) }).data ?? []
  const [params, setParams] = useState<Readonly<Record<string, string>>>({})
  const [prompt, setPrompt] = useState('')
  const [target, setTarget] = useState(skill.target ?? '')
  const [execution, setExecution] = useState<Execution>(skill.execution ?? 'approve')
  const { start, error, isBusy } = useStart()
  const given = Object.fromEntries(Object.entries(params).filter(([, value]) => value !== ''))
  const isAuto = targets.find(({ name }) => name === target)?.auto === true
  const body = { skillId: id, terminalSessionId: target === '' ? 'manual' : target, params: given, ...(prompt === '' ? {} : { prompt }), execution: target === '' ? 'manual' as const : execution, autoContinue: true }
  const submit = () => start(async key => (await take(api.POST('/api/skills/start', { params: { header: { 'idempotency-key': key } as never }, body }))).data.skillSessionId)
  return (
    <div className='split halves'>
      <form className='stack' onSubmit={event => { event.preventDefault(); void submit() }} onKeyDown={event => { if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) void submit() }}>
        {skill.description !== undefined && <p className='said'><Revealed text={skill.description} /></p>}
        <section className='panel'>
          <header><h2>{t.startWith}</h2></header>
          <div className='body stack'>
            {skill.params?.map(({ name, description, required }) => (
              <div key={name}>
                <label htmlFor={`p-${name}`}>{name} {required === true && <span className='quiet'>{t.required}</span>}</label>
                <input
                  id={`p-${name}`}
                  className='field'
                  required={required === true}
                  value={params[name] ?? ''}
                  onChange={event => { setParams({ ...params, [name]: event.target.value }) }}
                />
                <p className='hint'>{description}</p>
              </div>
            ))}
            <div>
              <label htmlFor='prompt'>{t.wordsMore}</label>
              <textarea
                id='prompt'
                className='field'
                rows={2}
                value={prompt}
                onChange={event => { setPrompt(event.target.value) }}
              />
            </div>
            <div>
              <label htmlFor='target'>{t.runsOn}</label>
              <select
                id='target'
                className='field'
                value={target}
                onChange={event => { setTarget(event.target.value) }}
              >
                <option value=''>{t.byYourself}</option>{targets.map(({ name, type }) => <option key={name} value={name}>{name} ({type === 'ssh' ? 'SSH' : t.thisMachine})</option>)}
              </select>
              {targets.length === 0 && <p className='hint'>{t.noTargets}</p>}
            </div>
            {target !== '' && (
              <div>
                <label htmlFor='execution'>{t.execution}</label>
                <select
                  id='execution'
                  className='field'
                  value={execution}
                  onChange={event => { setExecution(event.target.value as Execution) }}
                >
                  <option value='approve'>{t.executionApprove}</option>
                  <option value='manual'>{t.byYourself}</option>
                  {isAuto && <option value='auto'>{t.executionAuto}</option>}
                </select>
              </div>
            )}
          </div>
        </section>
        {error !== undefined && <ErrorNote error={error} />}
        <div><button className='button primary' disabled={isBusy}>{t.startSkill}</button></div>
      </form>
      <div className='stack'>
        <OtherWays lines={[['aps', `npx aps skill run ${quoted(id)}${target === '' ? '' : ` --target ${quoted(target)}`} --url ${location.origin}`], ['curl', `curl ${location.origin}/api/skills/start -H 'content-type: application/json' -d ${quoted(JSON.stringify(body))}`]]} />
        {skill.body !== undefined && <details className='panel'><summary>{t.whatItTellsTheModel}</summary><pre className='body text' tabIndex={0} aria-label={t.whatItTellsTheModel}><Revealed text={skill.body} /></pre></details>}
      </div>
    </div>
  )
}
