import { lazy } from 'react'
import { Redirect, Route, Switch } from 'wouter'
import { useMay } from '../api/caller.ts'
import { MorePage } from './more-page.tsx'
import { approvalsScreen, authorScreens, promptScreen, terminalScreen, workScreens } from './parts.ts'
import { PromptsPage } from '../prompts/prompts-page.tsx'
import { t } from '../text/text.ts'
import { Empty } from '../parts/empty.tsx'

const PromptPage = lazy(async () => ({ default: (await promptScreen()).PromptPage }))
const EnvironsPage = lazy(async () => ({ default: (await authorScreens()).EnvironsPage }))
const EnvironPage = lazy(async () => ({ default: (await authorScreens()).EnvironPage }))
const ToolsPage = lazy(async () => ({ default: (await authorScreens()).ToolsPage }))
const ToolPage = lazy(async () => ({ default: (await authorScreens()).ToolPage }))
const ExtensionsPage = lazy(async () => ({ default: (await authorScreens()).ExtensionsPage }))
const ExtensionPage = lazy(async () => ({ default: (await authorScreens()).ExtensionPage }))
const ProblemsPage = lazy(async () => ({ default: (await authorScreens()).ProblemsPage }))
const SessionsPage = lazy(async () => ({ default: (await workScreens()).SessionsPage }))
const StartPage = lazy(async () => ({ default: (await workScreens()).StartPage }))
const SessionPage = lazy(async () => ({ default: (await workScreens()).SessionPage }))
const ApprovalsPage = lazy(async () => ({ default: (await approvalsScreen()).ApprovalsPage }))
const TracesPage = lazy(async () => ({ default: (await workScreens()).TracesPage }))
const TracePage = lazy(async () => ({ default: (await workScreens()).TracePage }))
const MemoryPage = lazy(async () => ({ default: (await workScreens()).MemoryPage }))
const TerminalPage = lazy(async () => ({ default: (await terminalScreen()).TerminalPage }))
const TargetsPage = lazy(async () => ({ default: (await workScreens()).TargetsPage }))

/** Shows the screen that belongs to the page's address. */
export function Screens () {
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
  return mayRead ? '/prompts' : mayRun ? '/sessions' : mayApprove ? '/approvals' : undefined
}
