import { QueryClientProvider } from '@tanstack/react-query'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { Router } from 'wouter'
import { CALLER } from './api/caller.ts'
import { FIRST_PROMPTS } from './api/first-prompts.ts'
import { queries } from './api/queries.ts'
import { App } from './frame/app.tsx'
import { applyTheme, currentTheme } from './frame/theme.ts'
import { loadAgain } from './parts/lazy-part.tsx'
import { language, loadTexts } from './text/text.ts'

applyTheme(currentTheme())
// Both are requested before the page is drawn: nothing can be shown without the caller, and most users open the list of prompts first.
void queries.prefetchQuery(CALLER)
if (location.pathname === '/console/prompts') void queries.prefetchQuery(FIRST_PROMPTS)
document.documentElement.lang = language
await loadAgain(() => loadTexts('frame'))
createRoot(document.getElementById('root') as HTMLElement).render(
  <StrictMode>
    <QueryClientProvider client={queries}>
      <Router base='/console'><App /></Router>
    </QueryClientProvider>
  </StrictMode>
)
