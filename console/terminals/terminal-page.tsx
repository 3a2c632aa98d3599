import { useQuery } from '@tanstack/react-query'
import { lazy, Suspense, useRef, useState } from 'react'
import { Link, useLocation } from 'wouter'
import { ErrorNote } from '../parts/error-note.tsx'
import { PageTitle } from '../parts/page-title.tsx'
import { When } from '../parts/when.tsx'
import { t } from '../text/text.ts'
import { SkillList } from './skill-list.tsx'
import { SkillPanel } from './skill-panel.tsx'
import { closeTerminal, listTerminals, type TerminalState } from './terminal-api.ts'
import { type UsedTerminal, useTerminal } from './use-terminal.ts'

const TerminalScreen = lazy(async () => ({ default: (await import('./terminal-screen.tsx')).TerminalScreen }))

/** The character that the keys Ctrl+C send. */
const INTERRUPT = '\u0003'

/** The name under which the browser stores the session of a terminal's skill, so that the page finds the skill again after a reload. */
const keyOf = (id: string): string => `prompt-shell.skill-of.${id}`

/** The page of a terminal: its screen and, beside it, the skill that works in the terminal. */
export function TerminalPage ({ id }: { readonly id: string }) {
  const terminal = useTerminal(id)
  const { setScreen, write, resize } = terminal
  const about = useQuery({ queryKey: ['terminals'], queryFn: listTerminals, staleTime: 0 }).data?.find(({ terminalId }) => terminalId === id)
  const [isChoosing, setChoosing] = useState(false)
  const [skill, setSkill] = useState(() => sessionStorage.getItem(keyOf(id)) ?? undefined)
  const [error, setError] = useState<unknown>()
  const skills = useRef<HTMLButtonElement>(null)
  const [, go] = useLocation()
  const follow = (session: string | undefined) => {
    if (session === undefined) sessionStorage.removeItem(keyOf(id))
    else sessionStorage.setItem(keyOf(id), session)
    setSkill(session)
    setChoosing(false)
  }
  const close = async () => {
    try {
      await closeTerminal(id)
      go('/targets')
    } catch (failure) {
      setError(failure)
    }
  }
  const isOpen = terminal.ended === undefined
  const note = (
    <>
      <StateChip state={isOpen ? terminal.state : 'closed'} />
      {about?.createdAt !== undefined && <span className='quiet'>{t.openedAt} <When at={about.createdAt} /></span>}
      <span className='quiet'>{t.leaveTerminal}</span>
    </>
  )
  return (
    <>
      <PageTitle title={about === undefined ? t.terminal : t.terminalOn(about.target)} crumbs={<Link href='/targets'>{t.targets}</Link>} note={note}>
        <button ref={skills} type='button' className='button' disabled={!isOpen} onClick={() => { setChoosing(true) }}>{t.skills}</button>
        <Link href='/targets' className='button'>{t.detach}</Link>
        {isOpen && <button type='button' className='button danger' onClick={() => { void close() }}>{t.closeTerminal}</button>}
      </PageTitle>
      {error !== undefined && <ErrorNote error={error} />}
      <Troubles terminal={terminal} />
      <div className='split aside terminal'>
        <Suspense fallback={<div className='screen' />}>
          <TerminalScreen onScreen={setScreen} onKeys={write} onSize={resize} onLeave={() => { skills.current?.focus() }} />
        </Suspense>
        <aside className='stack'>
          {skill === undefined
            ? <p className='note'>{t.terminalNote}</p>
            : <SkillPanel key={skill} id={skill} state={terminal.state} onInterrupt={() => { write(INTERRUPT) }} onClose={() => { follow(undefined) }} />}
        </aside>
      </div>
      {isChoosing && <SkillList terminal={id} target={about?.target} onClose={() => { setChoosing(false) }} onStarted={follow} />}
    </>
  )
}

const TONES: Readonly<Record<TerminalState, string>> = { opening: '', prompt: 'good', typing: '', busy: 'accent', command: 'accent', closed: '' }

function StateChip ({ state }: { readonly state: TerminalState | undefined }) {
  if (state === undefined) return <span className='chip' role='status'>{t.connecting}</span>
  return <span className={`chip ${TONES[state]}`} role='status'>{t.terminalState(state)}</span>
}

/** Shows why the user cannot use the shell now: an error, the end of the terminal, or a lost connection. */
function Troubles ({ terminal: { ended, error, isConnected, state, attachAgain } }: { readonly terminal: UsedTerminal }) {
  const at = error?.details?.['at']
  return (
    <>
      {error !== undefined && (
        <div className='note bad' role='alert'>
          <span className='grow wrap'>{error.message} <code>{error.code}</code>{typeof at === 'string' && <> <code>{at}</code></>}</span>
        </div>
      )}
      {ended !== undefined && (
        <div className='note warn' role='status'>
          <span className='grow wrap'>{ended === '' ? t.terminalEnded : t.terminalEndedBy(ended)}</span>
          <button type='button' className='button small' onClick={attachAgain}>{t.attachAgain}</button>
        </div>
      )}
      {ended === undefined && !isConnected && state !== undefined && <p className='note warn' role='status'>{t.terminalLost}</p>}
    </>
  )
}
