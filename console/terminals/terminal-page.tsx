import { useQuery } from '@tanstack/react-query'
import type { Terminal as Screen } from '@xterm/xterm'
import { useEffect, useRef, useState } from 'react'
import { Link, useLocation } from 'wouter'
import { tokenGone } from '../api/token.ts'
import { ErrorNote, ErrorWords } from '../parts/error-note.tsx'
import { lazyPart } from '../parts/lazy-part.tsx'
import { PageTitle } from '../parts/page-title.tsx'
import { Revealed } from '../parts/reveal.tsx'
import { keep, session as tab } from '../parts/storage.ts'
import { When } from '../parts/when.tsx'
import { openSocket } from '../sessions/follow/session-socket.ts'
import { type Session, useSession } from '../sessions/follow/use-session.ts'
import { useSkill, Wanted } from '../sessions/skill/wanted.tsx'
import { hasEnded, partsOf } from '../sessions/words.ts'
import { reasonInRussian } from '../text/rules-ru.ts'
import { language, t } from '../text/text.ts'
import { SkillList } from './skill-list.tsx'
import { closeTerminal, FIRST_SIZE, listTerminals, type Terminal, type TerminalState } from './terminal-api.ts'

interface FrameError { readonly code: string, readonly message: string, readonly details?: Readonly<Record<string, unknown>> }

/** The connection to one terminal. */
interface TerminalSocket {
  readonly write: (data: string) => void
  readonly resize: (cols: number, rows: number) => void
  /** Closes the connection. The shell goes on. */
  readonly detach: () => void
}

/**
 * The largest number of UTF-16 units of typed text in one frame. A longer text that the user pastes is sent in several frames, each well
 * below the service's limit of 64 KiB.
 */
const MOST_KEYS = 12_000

/**
 * How many times the console connects again when another worker or replica has the terminal, and the pause before each time, in ms. All of
 * them have one port, and the next connection may reach the right one.
 */
const MOST_ATTEMPTS = 20
const ATTEMPT_PAUSE = 500

/** The pause before the socket is opened again, in ms: the first one, and the longest one. */
const FIRST_PAUSE = 500
const LONGEST_PAUSE = 10_000

/** The code with which the service closes a socket whose token is not valid any more. */
const TOKEN_GONE = 4401

type TerminalFrame =
  | { readonly type: 'terminal' } & Terminal
  | { readonly type: 'data', readonly data: string }
  | { readonly type: 'close', readonly reason: string }
  | { readonly type: 'error' } & FrameError

/** Why no more output comes. If the shell itself has ended, nobody can attach to it again. */
interface End { readonly reason: string, readonly isShellOver: boolean }

/**
 * Attaches to a terminal by a socket of its own, and attaches again after a broken connection. The terminal's last output comes again after
 * `onAttach`, before any new output. `onEnd` tells that the shell has ended, or that another window has taken over the terminal.
 */
function attachTerminal (id: string, reader: {
  readonly onAttach: () => void
  readonly onData: (data: string) => void
  readonly onState: (state: TerminalState) => void
  readonly onError: (error: FrameError) => void
  readonly onEnd: (end: End) => void
  readonly onConnection: (isConnected: boolean) => void
}): TerminalSocket {
  let socket: WebSocket | undefined
  let [isOver, isAttached, isShellOver] = [false, false, false]
  let [pause, attempts] = [FIRST_PAUSE, 0]
  let size = FIRST_SIZE

  function open (): void {
    if (isOver) return
    const opened = socket = openSocket()
    opened.addEventListener('open', () => {
      pause = FIRST_PAUSE
      isAttached = false
      send({ type: 'terminal_attach', terminalId: id, ...size })
    })
    opened.addEventListener('message', ({ data }) => { take(JSON.parse(String(data)) as TerminalFrame) })
    opened.addEventListener('close', ({ code, reason }) => {
      if (socket !== opened) return
      reader.onConnection(false)
      if (code === TOKEN_GONE) void tokenGone(reason === '' ? 'HTTP 401' : reason, 'TOKEN_UNKNOWN')
      if (isOver) return
      setTimeout(open, pause)
      pause = Math.min(pause * 2, LONGEST_PAUSE)
    })
  }

  function take (frame: TerminalFrame): void {
    if (frame.type === 'data') { reader.onData(frame.data); return }
    if (frame.type === 'close') { end(frame.reason); return }
    if (frame.type === 'error') { refuse(frame); return }
    if (frame.type !== 'terminal') return
    if (!isAttached) {
      isAttached = true
      attempts = 0
      reader.onAttach()
      reader.onConnection(true)
    }
    if (frame.state !== undefined) reader.onState(frame.state)
    isShellOver = frame.state === 'closed'
  }

  function refuse (error: FrameError): void {
    if (error.code === 'TERMINAL_ELSEWHERE' && !isAttached && attempts < MOST_ATTEMPTS) {
      attempts++
      letGo()
      setTimeout(open, ATTEMPT_PAUSE)
      return
    }
    isShellOver = error.code === 'TERMINAL_GONE'
    if (!isShellOver) reader.onError(error)
    if (!isAttached || isShellOver) end(typeof error.details?.['reason'] === 'string' ? error.details['reason'] : '')
  }

  function end (reason: string): void {
    isOver = true
    letGo()
    reader.onEnd({ reason, isShellOver })
  }

  function letGo (): void {
    const old = socket
    socket = undefined
    old?.close()
  }

  function send (frame: object): void {
    if (socket?.readyState === WebSocket.OPEN) socket.send(JSON.stringify(frame))
  }

  open()
  return {
    write (data) {
      for (let from = 0; from < data.length; from += MOST_KEYS) send({ type: 'data', data: data.slice(from, from + MOST_KEYS) })
    },
    resize (cols, rows) {
      size = { cols, rows }
      if (isAttached) send({ type: 'resize', cols, rows })
    },
    detach () {
      isOver = true
      letGo()
    }
  }
}

const TerminalScreen = lazyPart(async () => (await import('./terminal-screen.tsx')).TerminalScreen)

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
  const [skill, setSkill] = useState(() => tab.getItem(keyOf(id)) ?? undefined)
  const [error, setError] = useState<unknown>()
  const skills = useRef<HTMLButtonElement>(null)
  const [, go] = useLocation()
  const follow = (session: string | undefined) => {
    if (session === undefined) tab.removeItem(keyOf(id))
    else keep(tab, keyOf(id), session)
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
        <TerminalScreen onScreen={setScreen} onKeys={write} onSize={resize} onLeave={() => { skills.current?.focus() }} />
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
          <span className='grow wrap'><ErrorWords {...error} />{typeof at === 'string' && <> <code>{at}</code></>}</span>
        </div>
      )}
      {ended !== undefined && (
        <div className='note warn' role='status'>
          <span className='grow wrap'>{wordsOf(ended)}</span>
          {!ended.isShellOver && <button type='button' className='button small' onClick={attachAgain}>{t.attachAgain}</button>}
        </div>
      )}
      {ended === undefined && !isConnected && state !== undefined && <p className='note warn' role='status'>{t.terminalLost}</p>}
    </>
  )
}

function wordsOf ({ reason, isShellOver }: End): string {
  const why = language === 'ru' ? reasonInRussian(reason) : reason
  if (isShellOver) return why === '' ? t.terminalEnded : t.terminalEndedAs(why)
  return why === '' ? t.terminalGone : t.terminalEndedBy(why)
}

/** The state of a terminal as its page shows it, and the functions that the page calls. */
interface UsedTerminal {
  readonly state: TerminalState | undefined
  readonly isConnected: boolean
  readonly error: FrameError | undefined
  /** `undefined` while the terminal is in use. */
  readonly ended: End | undefined
  readonly setScreen: (screen: Screen | undefined) => void
  readonly write: (keys: string) => void
  readonly resize: (cols: number, rows: number) => void
  /** Attaches again, for example to a terminal that another window has taken over. */
  readonly attachAgain: () => void
}

function useTerminal (id: string): UsedTerminal {
  const [state, setState] = useState<TerminalState>()
  const [isConnected, setConnected] = useState(false)
  const [error, setError] = useState<FrameError>()
  const [ended, setEnded] = useState<End>()
  const [screen, setScreen] = useState<Screen>()
  const [attempt, setAttempt] = useState(0)
  const socket = useRef<TerminalSocket>(undefined)
  useEffect(() => {
    if (screen === undefined) return
    setEnded(undefined)
    setError(undefined)
    const attached = socket.current = attachTerminal(id, {
      onAttach: () => { screen.reset() },
      onData: data => { screen.write(data) },
      onState: setState,
      onError: setError,
      onEnd: setEnded,
      onConnection: setConnected
    })
    attached.resize(screen.cols, screen.rows)
    return () => { attached.detach() }
  }, [id, screen, attempt])
  return {
    state,
    isConnected,
    error,
    ended,
    setScreen,
    write: keys => { socket.current?.write(keys) },
    resize: (cols, rows) => { socket.current?.resize(cols, rows) },
    attachAgain: () => { setAttempt(attempt + 1) }
  }
}

interface SkillPanelProps {
  /** The id of the skill's session. */
  readonly id: string
  readonly state: TerminalState | undefined
  /** Sends Ctrl C to the shell. */
  readonly onInterrupt: () => void
  /** Takes the panel away once the skill has ended. */
  readonly onClose: () => void
}

/** The panel beside a terminal, which shows the last message of the skill, and what the skill waits for now. */
function SkillPanel (props: SkillPanelProps) {
  const followed = useSession(props.id)
  const session = followed.query.data
  if (session === undefined) return <p className='quiet loading' role='status'>{t.loading}</p>
  const message = followed.said.findLast(({ role, text }) => role === 'assistant' && text !== '')?.text ?? ''
  const step = followed.events.findLast(({ event }) => event === 'step')?.data
  return <Panel {...props} session={session} message={message} step={step} />
}

function Panel ({ session, message, step, state, onInterrupt, onClose }: SkillPanelProps & {
  readonly session: Session
  readonly message: string
  readonly step: Readonly<Record<string, unknown>> | undefined
}) {
  const skill = useSkill(session)
  const isEnded = hasEnded(session.status)
  // The service does not type the skill's command while the shell's input line has other text: the shell would run both as one command.
  const isHeldUp = session.status === 'running' && (state === 'typing' || state === 'busy')
  return (
    <>
      <section className='panel'>
        <header>
          <h2 className='wrap'><Link href={`/sessions/${session.id}`}>{partsOf(session.definition).name}</Link></h2>
          <span className='grow' />
          {step !== undefined && <span className='quiet num'>{t.stepOf(String(step['step']), String(step['max']))}</span>}
          {isEnded && <button type='button' className='button plain small' aria-label={t.close} onClick={onClose}>✕</button>}
        </header>
        {(message !== '' || session.status === 'running') && (
          <div className='body'><p className='said pre' aria-live='polite'><Revealed text={message === '' ? t.isAnswering : message} /></p></div>
        )}
      </section>
      {isHeldUp && (
        <div className='note warn' role='status'>
          <span className='grow'>{t.waitsForLine}</span>
          <button type='button' className='button small' onClick={onInterrupt}>Ctrl C</button>
        </div>
      )}
      <Wanted session={session} skill={skill} />
    </>
  )
}
