import { answerEarlySignals } from './early-signals.ts'

// The service is imported dynamically: a static import would be loaded before the first line runs, so before signals are answered.
answerEarlySignals()
await import('./process.ts')
