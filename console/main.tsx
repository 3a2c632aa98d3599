import { QueryClientProvider } from '@tanstack/react-query'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { Router } from 'wouter'
import { queries } from './api/queries.ts'
import { App } from './frame/app.tsx'
import { applyTheme, currentTheme } from './frame/theme.ts'
import { loadTexts } from './text/text.ts'

applyTheme(currentTheme())
await loadTexts()
createRoot(document.getElementById('root') as HTMLElement).render(
  <StrictMode>
    <QueryClientProvider client={queries}>
      <Router base='/console'><App /></Router>
    </QueryClientProvider>
  </StrictMode>
)
