import { useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { Link } from 'wouter'
import { api, take } from '../../api/client.ts'
import { type Once, useSending } from '../../api/sending.ts'
import { ApprovalQueue } from '../../approvals/approval-queue.tsx'
import { CommandCount, CommandText } from '../../approvals/command-text.tsx'
import { CopyButton } from '../../parts/copy-button.tsx'
import { ErrorNote } from '../../parts/error-note.tsx'
import { t } from '../../text/text.ts'
import { CancelButton } from '../cancel-button.tsx'
import { Composer } from '../composer.tsx'
import type { Session } from '../follow/use-session.ts'
import { hasEnded } from '../words.ts'

/** The query for the skill of a session. The skill is requested again whenever the session has changed. */
export function useSkill ({ id, seq, status }: Session) {
  const skill = useQuery({
    queryKey: ['skill', id],
    queryFn: async () => (await take(api.GET('/api/skills/{id}', { params: { path: { id } } }))).data,
    staleTime: 0
  })
  const { refetch } = skill
  useEffect(() => { void refetch() }, [seq, status, refetch])
  return skill
}

/**
 * Shows what a skill waits for now: a decision, an answer, the result of a command that the user runs, or the button to go on. Another
 * button cancels the skill.
 */
export function Wanted ({ session, skill }: { readonly session: Session, readonly skill: ReturnType<typeof useSkill> }) {
  if (hasEnded(session.status)) return <p className='note'>{t.sessionEnded} <Link href={`/sessions/new?of=${session.definition}`}>{t.startAgain}</Link></p>
  return (
    <>
      <ApprovalQueue approvals={session.approvals} />
      {session.status === 'waiting_input' && !skill.isFetching && skill.data !== undefined
        ? <Asked session={session} skill={skill.data} />
        : <div className='row after'><CancelButton id={session.id} kind='skills' /></div>}
    </>
  )
}

function Asked ({ session: { id }, skill: { state, pendingCommand, aiResponse } }: {
  readonly session: Session
  readonly skill: NonNullable<ReturnType<typeof useSkill>['data']>
}) {
  const input = (body: { readonly text?: string, readonly action?: { readonly name: string } }, { header, signal }: Once) =>
    take(api.POST('/api/sessions/{id}/input', { params: { path: { id }, header }, body, signal }))
  const { error, isBusy: isSending, send } = useSending()
  const act = (name: string) => { void send(name, once => input({ action: { name } }, once)) }
  const problem = error === undefined ? null : <ErrorNote error={error} isSent />
  const cancel = <CancelButton id={id} kind='skills' />
  const [isInterrupted, isBusy] = [aiResponse?.isInterrupted === true, aiResponse?.isBusy === true]
  if (isInterrupted || isBusy) {
    return (
      <>
        {problem}
        <div className='note warn wrap-row'>
          <p className='grow'>{isBusy ? t.terminalWasBusy : t.interrupted}</p>
          <button type='button' className='button small' disabled={isSending} onClick={() => { act('again') }}>{t.runAgain}</button>
          {isBusy && <button type='button' className='button small' disabled={isSending} onClick={() => { act('without') }}>{t.runWithoutTerminal}</button>}
          <button type='button' className='button small' disabled={isSending} onClick={() => { act('skip') }}>{t.skipCommand}</button>
          {cancel}
        </div>
      </>
    )
  }
  if (state === 'waiting_cmd') return <><ManualCommand id={id} command={pendingCommand ?? ''} /><div className='row after'>{cancel}</div></>
  if (state === 'waiting_user') {
    const isOptional = aiResponse?.required === false
    return (
      <Composer label={isOptional ? t.answerOptional : t.answerField} mayBeEmpty={isOptional} send={(text, once) => input({ text }, once)}>
        {cancel}
      </Composer>
    )
  }
  return (
    <div className='dock composer'>
      {problem}
      <div className='row wrap-row'>
        {cancel}
        <span className='grow quiet'>{t.goOnHint}</span>
        <button type='button' className='button primary' disabled={isSending} onClick={() => { act('continue') }}>{t.continue}</button>
      </div>
    </div>
  )
}

/** Shows a command that the user runs by hand. The user copies the command, runs it, and pastes its output and exit code. */
function ManualCommand ({ id, command }: { readonly id: string, readonly command: string }) {
  const [stdout, setStdout] = useState('')
  const [code, setCode] = useState('0')
  const { error, isBusy, send } = useSending()
  const attempt = async (what: string, call: (once: Once) => Promise<unknown>) => {
    if (await send(what, call)) setStdout('')
  }
  const path = { id }
  return (
    <section className='card after' aria-label={t.runYourself}>
      <header>{t.runYourself}</header>
      <form
        className='body' onSubmit={event => {
          event.preventDefault()
          const body = { stdout, exitCode: Number(code) }
          void attempt(JSON.stringify(body), ({ header, signal }) =>
            take(api.POST('/api/skills/{id}/command-result', { params: { path, header }, body, signal })))
        }}
      >
        <CommandText text={command} id='manual-count' />
        <div className='row'><CommandCount text={command} id='manual-count' /><CopyButton text={command} label={t.copyRaw} /></div>
        <div>
          <label htmlFor='stdout'>{t.whatItPrinted}</label>
          <textarea
            id='stdout'
            className='field mono'
            rows={3}
            spellCheck={false}
            value={stdout}
            onChange={event => { setStdout(event.target.value) }}
          />
        </div>
        {error !== undefined && <ErrorNote error={error} isSent />}
        <div className='row wrap-row'>
          <label className='row typed'>
            {t.exitCode}
            <input
              className='field num'
              inputMode='numeric'
              pattern='-?\d+'
              value={code}
              onChange={event => { setCode(event.target.value) }}
            />
          </label>
          <span className='grow' />
          <button
            type='button'
            className='button plain'
            disabled={isBusy}
            onClick={() => {
              void attempt('skip', ({ header, signal }) => take(api.POST('/api/skills/{id}/skip', { params: { path, header }, body: {}, signal })))
            }}
          >
            {t.skipCommand}
          </button>
          <button className='button primary' disabled={isBusy}>{t.sendResult}</button>
        </div>
      </form>
    </section>
  )
}
