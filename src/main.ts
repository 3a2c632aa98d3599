import { answerEarlySignals } from './early-signals.ts'

// All that is imported statically is loaded before the first line runs.
answerEarlySignals()
await import('./process.ts')
