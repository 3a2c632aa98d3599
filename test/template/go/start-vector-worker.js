// A worker does not inherit tsx, which runs the TypeScript of the tests.
import { register } from 'tsx/esm/api'

register()
await import('./vector-worker.ts')
