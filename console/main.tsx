import { QueryClientProvider } from '@tanstack/react-query'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { Router } from 'wouter'
import { CALLER } from './api/caller.ts'
import { FIRST_PROMPTS } from './api/first-prompts.ts'
import { queries } from './api/queries.ts'
import { hasProvider } from './api/token.ts'
import { App } from './frame/app.tsx'
import { applyTheme, currentTheme } from './frame/theme.ts'
import { loadAgain } from './parts/lazy-part.tsx'
import { language, loadTexts, withTexts } from './text/text.ts'

applyTheme(currentTheme())
document.documentElement.lang = language
const texts = loadAgain(() => loadTexts('frame'))
if (hasProvider) {
  const [{ resumeSignIn }] = await Promise.all([loadAgain(() => withTexts('signIn', import('./api/sign-in.ts'))), texts])
  await resumeSignIn()
}
// Both are requested before the page is drawn: nothing can be shown without the caller, and most users open the list of prompts first.
void queries.prefetchQuery(CALLER)
if (location.pathname === '/console/prompts') void queries.prefetchQuery(FIRST_PROMPTS)
await texts
createRoot(document.getElementById('root') as HTMLElement).render(
  <StrictMode>
    <QueryClientProvider client={queries}>
      <Router base='/console'><App /></Router>
    </QueryClientProvider>
  </StrictMode>
)
