import { useQuery } from '@tanstack/react-query'
import { Component, type ReactNode, useEffect, useId, useMemo, useRef, useState } from 'react'
import { Link, Redirect, Route, Switch, useLocation } from 'wouter'
import { useCaller, useMay } from '../api/caller.ts'
import { useChanges, useFallback, useIsAway } from '../api/changes.ts'
import { api, takePage } from '../api/client.ts'
import { type Found, listEverything } from '../api/listings.ts'
import { queries } from '../api/queries.ts'
import { type Status, useStatus } from '../api/status.ts'
import { useApprovals, useWaitingSessions } from '../api/waiting.ts'
import { hasProvider, keepToken, signedIn, tokenRefused, useRefusal } from '../api/token.ts'
import { Empty } from '../parts/empty.tsx'
import { Icon } from '../parts/icons.tsx'
import { lazyPart } from '../parts/lazy-part.tsx'
import { useNotifications } from '../parts/notifications.ts'
import { countInTitle, PageTitle } from '../parts/page-title.tsx'
import { shortTime } from '../parts/time.ts'
import { PromptsPage } from '../prompts/prompts-page.tsx'
import { chooseLanguage, errorWords, language, t } from '../text/text.ts'
import { Keys, openKeys } from './keys.tsx'
import { approvalsScreen, authorScreens, promptScreen, terminalScreen, traceScreen, usageScreen, workScreens } from './parts.ts'
import { authorPlaces, type Place, useOpenPlaces, workPlaces } from './places.ts'
import { applyTheme, currentTheme, THEMES } from './theme.ts'

/** The largest number of hits that are shown. */
const MOST = 12

/** The field that searches the ids and descriptions of entries. The key `/` moves to the field, the arrow keys choose a hit, Enter opens it. */
function Search () {
  const field = useRef<HTMLInputElement>(null)
  const list = useId()
  const [text, setText] = useState('')
  const [at, setAt] = useState(0)
  const [isOpen, setOpen] = useState(false)
  const [, go] = useLocation()
  const mayRead = useMay('read')
  const everything = useQuery({ queryKey: ['registry', 'everything'], queryFn: listEverything, enabled: isOpen && mayRead })
  const hits = text.trim() === '' ? [] : findIn(everything.data ?? [], text)
  useEffect(() => {
    const focus = () => { field.current?.focus() }
    addEventListener('console:search', focus)
    return () => { removeEventListener('console:search', focus) }
  }, [])
  const open = (hit: Found | undefined) => {
    if (hit === undefined) return
    setText('')
    field.current?.blur()
    go(hit.path)
  }
  return (
    <div className='search' role='search'>
      <input
        ref={field}
        className='field'
        placeholder={t.searchPlaceholder}
        aria-label={t.search}
        value={text}
        role='combobox'
        aria-expanded={isOpen && hits.length > 0}
        aria-controls={list}
        aria-autocomplete='list'
        aria-activedescendant={isOpen && hits.length > 0 ? `${list}-${at}` : undefined}
        autoComplete='off'
        spellCheck={false}
        onChange={event => { setText(event.target.value); setAt(0); setOpen(true) }}
        onFocus={() => { setOpen(true) }}
        onBlur={() => { setOpen(false) }}
        onKeyDown={event => {
          if (event.key === 'ArrowDown') setAt(Math.min(at + 1, hits.length - 1))
          else if (event.key === 'ArrowUp') setAt(Math.max(at - 1, 0))
          else if (event.key === 'Enter') open(hits[at])
          else if (event.key === 'Escape') { setText(''); field.current?.blur() } else return
          event.preventDefault()
        }}
      />
      <kbd aria-hidden='true'>/</kbd>
      <ul
        className='hits'
        id={list}
        role='listbox'
        aria-label={t.search}
        hidden={!isOpen || hits.length === 0}
      >
        {hits.map((hit, index) => (
          <li
            key={hit.path}
            id={`${list}-${index}`}
            role='option'
            aria-selected={index === at}
            onMouseDown={event => { event.preventDefault(); open(hit) }}
          >
            <span className='grow cut'>{hit.id}</span><span className='quiet'>{t.kindName(hit.kind)}</span>
          </li>
        ))}
      </ul>
    </div>
  )
}

/**
 * Finds the entries that have a text: first those whose id begins with it, then those whose id contains it, then those whose description
 * contains it.
 */
function findIn (everything: readonly Found[], text: string): readonly Found[] {
  const words = text.trim().toLowerCase()
  const ranked: Found[][] = [[], [], []]
  for (const found of everything) {
    const id = found.id.toLowerCase()
    const rank = id.startsWith(words) ? 0 : id.includes(words) ? 1 : found.description.toLowerCase().includes(words) ? 2 : -1
    if (rank >= 0) ranked[rank]?.push(found)
  }
  return ranked.flat().slice(0, MOST)
}

const PromptPage = lazyPart(async () => (await promptScreen()).PromptPage)
const EnvironsPage = lazyPart(async () => (await authorScreens()).EnvironsPage)
const EnvironPage = lazyPart(async () => (await authorScreens()).EnvironPage)
const ToolsPage = lazyPart(async () => (await authorScreens()).ToolsPage)
const ToolPage = lazyPart(async () => (await authorScreens()).ToolPage)
const ExtensionsPage = lazyPart(async () => (await authorScreens()).ExtensionsPage)
const ExtensionPage = lazyPart(async () => (await authorScreens()).ExtensionPage)
const ProblemsPage = lazyPart(async () => (await authorScreens()).ProblemsPage)
const UsagePage = lazyPart(async () => (await usageScreen()).UsagePage)
const SessionsPage = lazyPart(async () => (await workScreens()).SessionsPage)
const StartPage = lazyPart(async () => (await workScreens()).StartPage)
const SessionPage = lazyPart(async () => (await workScreens()).SessionPage)
const ApprovalsPage = lazyPart(async () => (await approvalsScreen()).ApprovalsPage)
const TracesPage = lazyPart(async () => (await workScreens()).TracesPage)
const TracePage = lazyPart(async () => (await traceScreen()).TracePage)
const MemoryPage = lazyPart(async () => (await workScreens()).MemoryPage)
const TerminalPage = lazyPart(async () => (await terminalScreen()).TerminalPage)
const SignInChoice = lazyPart(async () => (await import('./sign-in-choice.tsx')).SignInChoice)
const TargetsPage = lazyPart(async () => (await workScreens()).TargetsPage)

/** Shows the screen that belongs to the page's address. */
function Screens () {
  const home = useHome()
  return (
    <Switch>
      <Route path='/'>{home === undefined ? <Empty title={t.noScreens}>{t.noScreensNext}</Empty> : <Redirect to={home} replace />}</Route>
      <Route path='/prompts' component={PromptsPage} />
      <Route path='/prompts/:id'>{({ id }) => <PromptPage key={id} id={decodeURIComponent(id)} />}</Route>
      <Route path='/environs' component={EnvironsPage} />
      <Route path='/environs/:id'>{({ id }) => <EnvironPage key={id} id={decodeURIComponent(id)} />}</Route>
      <Route path='/tools' component={ToolsPage} />
      <Route path='/tools/:id'>{({ id }) => <ToolPage key={id} id={decodeURIComponent(id)} />}</Route>
      <Route path='/extensions' component={ExtensionsPage} />
      <Route path='/extensions/:id'>{({ id }) => <ExtensionPage key={id} id={decodeURIComponent(id)} />}</Route>
      <Route path='/problems' component={ProblemsPage} />
      <Route path='/usage' component={UsagePage} />
      <Route path='/sessions' component={SessionsPage} />
      <Route path='/sessions/new' component={StartPage} />
      <Route path='/sessions/:id'>{({ id }) => <SessionPage key={id} id={id} />}</Route>
      <Route path='/approvals' component={ApprovalsPage} />
      <Route path='/traces' component={TracesPage} />
      <Route path='/traces/:id'>{({ id }) => <TracePage key={id} id={id} />}</Route>
      <Route path='/memory' component={MemoryPage} />
      <Route path='/targets' component={TargetsPage} />
      <Route path='/terminals/:id'>{({ id }) => <TerminalPage key={id} id={id} />}</Route>
      <Route path='/more' component={MorePage} />
      <Route><Empty title={t.noSuchPage}>{t.noSuchPageNext}</Empty></Route>
    </Switch>
  )
}

/**
 * The path of the screen that the caller sees first; `undefined` for a caller whose roles open no screen. A caller who may only approve
 * actions sees the approvals.
 */
function useHome (): string | undefined {
  const mayRead = useMay('read')
  const mayRun = useMay('run')
  const mayApprove = useMay('approve')
  const mayChat = useMay('chat')
  return mayRead ? '/prompts' : mayRun ? '/sessions' : mayApprove ? '/approvals' : mayChat ? '/usage' : undefined
}

/** The page with links to all screens, for narrow windows: the bottom of these has room for a few links only. */
function MorePage () {
  const places = useOpenPlaces([...authorPlaces(), ...workPlaces()])
  return (
    <>
      <PageTitle title={t.more} />
      <ul className='panel'>
        {places.map(({ path, name, icon }) => <li key={path} className='item'><Link href={path} className='row'><Icon name={icon} />{name}</Link></li>)}
      </ul>
    </>
  )
}

/** The whole console: the rail, the bar, the present screen, and the dialogs that every screen needs. */
export function App () {
  const status = useStatus()
  const caller = useCaller()
  useChanges()
  const [path] = useLocation()
  const page = useRef<HTMLElement>(null)
  const isFirst = useRef(true)
  // The focus moves to the new screen, so that a screen reader begins to read there.
  useEffect(() => {
    if (isFirst.current) isFirst.current = false
    else page.current?.focus({ preventScroll: true })
    window.scrollTo(0, 0)
  }, [path])
  return (
    <div className='frame'>
      <a href='#page' className='skip' onClick={event => { event.preventDefault(); page.current?.focus() }}>{t.skipToPage}</a>
      <Rail />
      <Bar status={status} />
      <main className='page' id='page' ref={page} tabIndex={-1}>
        <Outage status={status} />
        <Fault key={path}>
          {caller === undefined ? <p className='quiet loading' role='status'>{t.loading}</p> : <Screens />}
        </Fault>
      </main>
      <Keys />
      <TokenDialog />
    </div>
  )
}

/** Shows an error in place of a screen that cannot be shown; all other screens still work. */
class Fault extends Component<{ readonly children: ReactNode }, { readonly error?: unknown }> {
  override state: { readonly error?: unknown } = {}

  static getDerivedStateFromError (error: unknown) {
    return { error }
  }

  override render () {
    if (this.state.error === undefined) return this.props.children
    return (
      <div className='note bad' role='alert'>
        <span className='grow wrap'>{t.fault} <code>{String(this.state.error)}</code></span>
        <button type='button' className='button small' onClick={() => { location.reload() }}>{t.reload}</button>
      </div>
    )
  }
}

/** Tells the user at the top of the screen what an outage means, as long as it lasts. */
function Outage ({ status: { state, since, readiness } }: { readonly status: Status }) {
  const words = state === 'stale' ? t.outageStale(shortTime(since ?? 0)) : state === 'gone' ? t.outageGone : state === 'held' ? t.outageHeld : undefined
  const noSessions = readiness?.sessions !== undefined && !readiness.sessions.available
  return (
    <>
      {words !== undefined && (
        <div className={`note outage ${state === 'gone' ? 'bad' : 'warn'}`} role='alert'>
          <Icon name='problems' />
          <span>{words}</span>
        </div>
      )}
      {noSessions && <div className='note outage warn' role='alert'><Icon name='problems' /><span>{t.outageSessions} {readiness.sessions.details}</span></div>}
    </>
  )
}

/** The bar at the top: the search, the state of the service, the name of the caller, and the theme. */
function Bar ({ status }: { readonly status: Status }) {
  const caller = useCaller()
  const forget = () => { keepToken('', false); tokenRefused(t.tokenWhy) }
  return (
    <header className='bar'>
      <Search />
      <span className='grow' />
      <StoreState status={status} />
      {caller?.mode === 'tokens' && (
        <button type='button' className='button plain small cut' title={signedIn?.leaveTitle ?? t.forgetToken} onClick={signedIn?.leave ?? forget}>
          {signedIn?.nameOf(caller.name) ?? caller.name}
        </button>
      )}
      <LanguageButton />
      <ThemeButton />
    </header>
  )
}

function StoreState ({ status: { state, since } }: { readonly status: Status }) {
  const isAway = useIsAway()
  if (state === 'live' && isAway) return <span className='chip warn' role='status' title={t.eventsAwayMeans}>{t.eventsAway}</span>
  if (state === 'live') return <span className='row' role='status'><span className='dot good' />{t.live}</span>
  const words = state === 'stale' ? t.staleSince(shortTime(since ?? 0)) : state === 'held' ? t.held : t.goneSince(shortTime(since ?? 0))
  return <span className={state === 'gone' ? 'chip bad' : 'chip warn'} role='status'>{words}</span>
}

/** Named in the language that it leads to, for those who read no other. */
function LanguageButton () {
  const [other, name] = language === 'en' ? ['ru', 'Русский'] as const : ['en', 'English'] as const
  return (
    <button type='button' className='button plain small' lang={other} onClick={() => { chooseLanguage(other) }}>
      {name}
    </button>
  )
}

function ThemeButton () {
  const [theme, setTheme] = useState(currentTheme())
  const next = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length] ?? 'system'
  const name = { system: t.themeSystem, light: t.themeLight, dark: t.themeDark }[theme]
  return (
    <button type='button' className='button plain small' aria-label={name} title={name} onClick={() => { applyTheme(next); setTheme(next) }}>
      {theme === 'system' ? '◐' : theme === 'light' ? '○' : '●'}
    </button>
  )
}

/** Asks the user for a token, or to sign in, when the service has refused the present one. Then it loads the open screen again. */
function TokenDialog () {
  const refusal = useRefusal()
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => {
    if (refusal === undefined) dialog.current?.close()
    else if (dialog.current?.open === false) dialog.current.showModal()
  }, [refusal])
  const why = refusal && (errorWords(refusal.code) ?? refusal.message)
  return (
    <dialog ref={dialog} aria-labelledby='token-title'>
      <div className='stack'>
        {!hasProvider && <h2 id='token-title'>{t.tokenTitle}</h2>}
        {hasProvider ? <SignInChoice why={why} code={refusal?.code}><TokenForm /></SignInChoice> : <><p className='wrap'>{why}</p><TokenForm /></>}
      </div>
    </dialog>
  )
}

function TokenForm () {
  const [token, setToken] = useState('')
  const [onDevice, setOnDevice] = useState(false)
  const use = () => {
    keepToken(token.trim(), onDevice)
    setToken('')
    void queries.resetQueries()
  }
  return (
    <form onSubmit={event => { event.preventDefault(); use() }} className='stack'>
      <div>
        <label htmlFor='token'>{t.token}</label>
        <input
          id='token'
          className='field mono'
          type='password'
          autoComplete='off'
          required
          value={token}
          onChange={event => { setToken(event.target.value) }}
        />
      </div>
      <label className='row choice'>
        <input type='checkbox' checked={onDevice} onChange={event => { setOnDevice(event.target.checked) }} />
        {t.tokenOnDevice}
      </label>
      <div className='row'><button className='button primary'>{t.tokenUse}</button><span className='hint'>{t.tokenHint}</span></div>
    </form>
  )
}

/** The rail: links to all screens that the caller may open, each with the number of things that wait there. */
function Rail () {
  const author = useOpenPlaces(authorPlaces())
  const work = useOpenPlaces(workPlaces())
  const counts = useCounts()
  const [path] = useLocation()
  const waiting = (counts['/approvals']?.n ?? 0) + (counts['/sessions']?.n ?? 0)
  useEffect(() => { countInTitle(waiting) }, [waiting])
  return (
    <nav className='rail' aria-label={t.screens}>
      <div className='brand'><Icon name='brand' />ai-prompt-shell</div>
      {author.length > 0 && <h3>{t.author}</h3>}
      {author.map(place => <PlaceLink
        key={place.path}
        place={place}
        path={path}
        count={counts[place.path]}
                           />)}
      {work.length > 0 && <h3>{t.work}</h3>}
      {work.map(place => <PlaceLink
        key={place.path}
        place={place}
        path={path}
        count={counts[place.path]}
                         />)}
      <Link href='/more' className='first more' aria-current={path === '/more' ? 'page' : undefined}><Icon name='more' /><span>{t.more}</span></Link>
      <div className='foot'><button type='button' className='plain-text' onClick={openKeys}>{t.keys} <kbd>?</kbd></button></div>
    </nav>
  )
}

function PlaceLink ({ place: { path, name, icon, isFirst }, path: current, count }: {
  readonly place: Place
  readonly path: string
  readonly count: { readonly n: number, readonly tone: string } | undefined
}) {
  return (
    <Link href={path} className={isFirst ? 'first' : ''} aria-current={isWithin(current, path) ? 'page' : undefined}>
      <Icon name={icon} />
      <span>{name}</span>
      {count !== undefined && count.n > 0 && <span className={`count ${count.tone}`}>{count.n}</span>}
    </Link>
  )
}

/** Whether the page at an address belongs to the link with this path. The page of a terminal belongs to the link to the targets. */
function isWithin (address: string, path: string): boolean {
  return address === path || address.startsWith(`${path}/`) || (path === '/targets' && address.startsWith('/terminals/'))
}

/** The numbers that the rail shows beside its links: entries with mistakes, sessions that wait for input, and actions that wait for approval. */
function useCounts (): Readonly<Record<string, { readonly n: number, readonly tone: string }>> {
  const mayRead = useMay('read')
  const problems = useQuery({ queryKey: ['registry', 'problems', 'count'], queryFn: countProblems, enabled: mayRead, refetchInterval: useFallback() })
  const { data: sessions } = useWaitingSessions()
  const { data: approvals } = useApprovals()
  useNotifications(useMemo(() => sessions?.map(({ id, definition, updatedAt }) => (
    { id: `${id} ${updatedAt}`, title: t.inputWaits, text: definition, path: `/sessions/${id}` }
  )), [sessions]))
  useNotifications(useMemo(() => approvals?.map(({ id, path }) => (
    { id, title: t.decisionWaits, text: path.join(' › '), path: `/approvals?at=${encodeURIComponent(id)}` }
  )), [approvals]))
  return {
    '/problems': { n: problems.data ?? 0, tone: 'bad' },
    '/sessions': { n: sessions?.length ?? 0, tone: 'warn' },
    '/approvals': { n: approvals?.length ?? 0, tone: 'warn' }
  }
}

async function countProblems (): Promise<number> {
  const { rows } = await takePage<{ readonly state: string, readonly diagnostics: ReadonlyArray<{ readonly severity: string }> }>(
    api.GET('/api/status/entries', { params: { query: { limit: 500 } } }))
  return rows.filter(({ state, diagnostics }) => state !== 'valid' && diagnostics.some(({ severity }) => severity === 'error')).length
}
