import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useSearch } from 'wouter'
import { api, take } from '../../api/client.ts'
import { SelectField, TextField } from '../../parts/fields.tsx'
import { Loaded } from '../../parts/loading.tsx'
import { Revealed } from '../../parts/reveal.tsx'
import { t } from '../../text/text.ts'
import { OtherWays, quoted } from './other-ways.tsx'
import { StartForm } from './start-form.tsx'
import { useStart } from './use-start.ts'

interface Parameter { readonly name: string, readonly description?: string, readonly required?: boolean }

interface Skill {
  readonly description?: string
  readonly body?: string
  readonly params?: readonly Parameter[]
  readonly execution?: Execution
  readonly target?: string
}

type Execution = 'manual' | 'approve' | 'auto'

/**
 * The form that starts a skill: its parameters, further words for the model, the target of its commands, and whether a person approves or
 * runs these.
 */
export function StartSkill ({ id }: { readonly id: string }) {
  const query = useQuery({
    queryKey: ['registry', 'skill', id],
    queryFn: async () => await take(api.GET('/api/skills/definitions/{id}', { params: { path: { id } } })) as Skill
  })
  return <Loaded query={query}>{skill => <SkillForm id={id} skill={skill} />}</Loaded>
}

function SkillForm ({ id, skill }: { readonly id: string, readonly skill: Skill }) {
  const wish = useSkillWish(id, skill)
  const { body, target, targets, params, prompt, setPrompt, setTarget } = wish
  const { start, error, isBusy } = useStart()
  const submit = () => start(async key => {
    const { data } = await take(api.POST('/api/skills/start', { params: { header: { 'idempotency-key': key } as never }, body }))
    return data.skillSessionId
  })
  const lines = [
    ['aps', `npx ai-prompt-shell skill run ${quoted(id)}${target === '' ? '' : ` --target ${quoted(target)}`} --url ${location.origin}`],
    ['curl', `curl ${location.origin}/api/skills/start -H 'content-type: application/json' -d ${quoted(JSON.stringify(body))}`]
  ] as const
  const aside = (
    <>
      <OtherWays lines={lines} />
      {skill.body !== undefined && (
        <details className='panel'>
          <summary>{t.whatItTellsTheModel}</summary>
          <pre className='body text' tabIndex={0} aria-label={t.whatItTellsTheModel}><Revealed text={skill.body} /></pre>
        </details>
      )}
    </>
  )
  const above = skill.description === undefined ? undefined : <p className='said'><Revealed text={skill.description} /></p>
  return (
    <StartForm above={above} action={t.startSkill} isOff={isBusy} error={error} onStart={() => { void submit() }} aside={aside}>
      {skill.params?.map(({ name, description, required = false }) => (
        <TextField
          key={name}
          id={`p-${name}`}
          label={name}
          hint={description}
          isRequired={required}
          value={params[name] ?? ''}
          onChange={value => { wish.setParam(name, value) }}
        />
      ))}
      <TextField id='prompt' label={t.wordsMore} rows={2} value={prompt} onChange={setPrompt} />
      <SelectField id='target' label={t.runsOn} value={target} onChange={setTarget} hint={targets.length === 0 ? t.noTargets : undefined}>
        <option value=''>{t.byYourself}</option>
        {targets.map(({ name, type }) => <option key={name} value={name}>{name} ({type === 'ssh' ? 'SSH' : t.thisMachine})</option>)}
      </SelectField>
      {target !== '' && (
        <SelectField id='execution' label={t.execution} value={wish.execution} onChange={value => { wish.setExecution(value as Execution) }}>
          <option value='approve'>{t.executionApprove}</option>
          <option value='manual'>{t.byYourself}</option>
          {wish.isAuto && <option value='auto'>{t.executionAuto}</option>}
        </SelectField>
      )}
    </StartForm>
  )
}

/** Keeps the values of the form, and makes the body of the request from them. */
function useSkillWish (id: string, skill: Skill) {
  const search = new URLSearchParams(useSearch())
  const targets = useQuery({ queryKey: ['targets'], queryFn: () => take(api.GET('/api/targets', {})) }).data ?? []
  const [params, setParams] = useState<Readonly<Record<string, string>>>({})
  const [prompt, setPrompt] = useState('')
  const [target, setTarget] = useState(search.get('target') ?? skill.target ?? '')
  const [execution, setExecution] = useState<Execution>(skill.execution ?? 'approve')
  const given = Object.fromEntries(Object.entries(params).filter(([, value]) => value !== ''))
  const body = {
    skillId: id,
    terminalSessionId: target === '' ? 'manual' : target,
    params: given,
    ...(prompt === '' ? {} : { prompt }),
    execution: target === '' ? 'manual' as const : execution,
    autoContinue: true
  }
  const setParam = (name: string, value: string) => { setParams(before => ({ ...before, [name]: value })) }
  const isAuto = targets.find(({ name }) => name === target)?.auto === true
  return { targets, params, setParam, prompt, setPrompt, target, setTarget, execution, setExecution, isAuto, body }
}
