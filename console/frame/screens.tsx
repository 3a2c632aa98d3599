import { lazy } from 'react'
import { Redirect, Route, Switch } from 'wouter'
import { useMay } from '../api/caller.ts'
import { PromptsPage } from '../prompts/prompts-page.tsx'
import { t } from '../text/text.ts'
import { Empty } from '../parts/empty.tsx'

const PromptPage = lazy(async () => ({ default: (await import('../prompts/prompt-page.tsx')).PromptPage }))
const EnvironsPage = lazy(async () => ({ default: (await import('../library/environs-page.tsx')).EnvironsPage }))
const EnvironPage = lazy(async () => ({ default: (await import('../library/environ-page.tsx')).EnvironPage }))
const ToolsPage = lazy(async () => ({ default: (await import('../library/tools-page.tsx')).ToolsPage }))
const ToolPage = lazy(async () => ({ default: (await import('../library/tool-page.tsx')).ToolPage }))
const ExtensionsPage = lazy(async () => ({ default: (await import('../library/extensions-page.tsx')).ExtensionsPage }))
const ExtensionPage = lazy(async () => ({ default: (await import('../library/extension-page.tsx')).ExtensionPage }))
const ProblemsPage = lazy(async () => ({ default: (await import('../library/problems-page.tsx')).ProblemsPage }))
const SessionsPage = lazy(async () => ({ default: (await import('../sessions/sessions-page.tsx')).SessionsPage }))
const StartPage = lazy(async () => ({ default: (await import('../sessions/start/start-page.tsx')).StartPage }))
const SessionPage = lazy(async () => ({ default: (await import('../sessions/session-page.tsx')).SessionPage }))
const ApprovalsPage = lazy(async () => ({ default: (await import('../approvals/approvals-page.tsx')).ApprovalsPage }))
const TracesPage = lazy(async () => ({ default: (await import('../sessions/traces-page.tsx')).TracesPage }))
const TracePage = lazy(async () => ({ default: (await import('../sessions/trace-page.tsx')).TracePage }))
const MemoryPage = lazy(async () => ({ default: (await import('../sessions/memory-page.tsx')).MemoryPage }))
const TargetsPage = lazy(async () => ({ default: (await import('../sessions/targets-page.tsx')).TargetsPage }))
const MorePage = lazy(async () => ({ default: (await import('./more-page.tsx')).MorePage }))

/** Which screen an address has. */
export function Screens () {
  const home = useHome()
  return (
    <Switch>
      <Route path='/'><Redirect to={home} replace /></Route>
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
      <Route path='/more' component={MorePage} />
      <Route><Empty title={t.noSuchPage}>{t.noSuchPageNext}</Empty></Route>
    </Switch>
  )
}

/** What somebody sees first: a token that may only decide has its decisions. */
function useHome (): string {
  const mayRead = useMay('read')
  const mayRun = useMay('run')
  const mayApprove = useMay('approve')
  return mayRead ? '/prompts' : mayRun ? '/sessions' : mayApprove ? '/approvals' : '/prompts'
}
