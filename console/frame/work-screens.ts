// The screens for sessions, plans, traces, memory and targets. They are one part of the console, which is loaded as a whole.
export { ChangeLook } from '../sessions/plan/change-look.tsx'
export { MemoryPage } from '../sessions/memory-page.tsx'
export { SessionPage } from '../sessions/session-page.tsx'
export { SessionsPage } from '../sessions/sessions-page.tsx'
export { StartPage } from '../sessions/start/start-page.tsx'
export { TargetsPage } from '../sessions/targets-page.tsx'
export { TracesPage } from '../sessions/traces-page.tsx'
