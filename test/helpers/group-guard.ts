import childProcess from 'node:child_process'
import { syncBuiltinESMExports } from 'node:module'
import { mock } from 'node:test'
import worker from 'node:worker_threads'

// Imported first by a process that runs many files of tests, one after the other (test/groups.ts): what one of them does to the
// whole process, the next would meet. Whoever does it fails, and belongs into a process of its own.

/** Refuses what is done to the process of all. */
function refuse (what: string): never {
  throw new Error(`a grouped file ${what}: take it out of GROUPED in test/groups.ts`)
}

for (const name of ['spawn', 'spawnSync', 'exec', 'execSync', 'execFile', 'execFileSync', 'fork'] as const) {
  Object.assign(childProcess, { [name]: () => refuse(`starts a process (${name})`) })
}
Object.assign(worker, { Worker: class { constructor () { refuse('starts a worker') } } })
syncBuiltinESMExports()

// Mocked clocks of tests have the same prototype.
Object.assign(Object.getPrototypeOf(mock.timers) as object, { enable: () => refuse('mocks a timer') })

// Libraries delete variables that are not there; that changes nothing.
const guarded: ProxyHandler<NodeJS.ProcessEnv> = {
  set: (env, name, value) => env[String(name)] === String(value) || refuse(`sets the variable ${String(name)}`),
  deleteProperty: (env, name) => !Object.hasOwn(env, name) || refuse(`removes the variable ${String(name)}`),
  defineProperty: (_env, name) => refuse(`defines the variable ${String(name)}`)
}
Object.defineProperty(process, 'env', { value: new Proxy(process.env, guarded) })
