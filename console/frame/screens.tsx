import { lazy } from 'react'
import { Redirect, Route, Switch } from 'wouter'
import { useMay } from '../api/caller.ts'
import { MorePage } from './more-page.tsx'
import { PromptsPage } from '../prompts/prompts-page.tsx'
import { t } from '../text/text.ts'
import { Empty } from '../parts/empty.tsx'

const author = () => import('./author-screens.ts')
const work = () => import('./work-screens.ts')
const PromptPage = lazy(async () => ({ default: (await import('../prompts/prompt-page.tsx')).PromptPage }))
const EnvironsPage = lazy(async () => ({ default: (await author()).EnvironsPage }))
const EnvironPage = lazy(async () => ({ default: (await author()).EnvironPage }))
const ToolsPage = lazy(async () => ({ default: (await author()).ToolsPage }))
const ToolPage = lazy(async () => ({ default: (await author()).ToolPage }))
const ExtensionsPage = lazy(async () => ({ default: (await author()).ExtensionsPage }))
const ExtensionPage = lazy(async () => ({ default: (await author()).ExtensionPage }))
const ProblemsPage = lazy(async () => ({ default: (await author()).ProblemsPage }))
const SessionsPage = lazy(async () => ({ default: (await work()).SessionsPage }))
const StartPage = lazy(async () => ({ default: (await work()).StartPage }))
const SessionPage = lazy(async () => ({ default: (await work()).SessionPage }))
const ApprovalsPage = lazy(async () => ({ default: (await import('../approvals/approvals-page.tsx')).ApprovalsPage }))
const TracesPage = lazy(async () => ({ default: (await work()).TracesPage }))
const TracePage = lazy(async () => ({ default: (await work()).TracePage }))
const MemoryPage = lazy(async () => ({ default: (await work()).MemoryPage }))
const TerminalPage = lazy(async () => ({ default: (await import('../terminals/terminal-page.tsx')).TerminalPage }))
const TargetsPage = lazy(async () => ({ default: (await work()).TargetsPage }))

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
      <Route path='/terminals/:id'>{({ id }) => <TerminalPage key={id} id={id} />}</Route>
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
