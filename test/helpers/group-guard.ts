import cluster from 'node:cluster'
import { syncBuiltinESMExports } from 'node:module'
import { mock } from 'node:test'

// Imported first by a process that runs many files of tests, one after the other (test/groups.ts): what one of them does to the
// whole process, the next would meet. Whoever does it fails, and belongs into a process of its own.

/** Refuses what is done to the process of all. */
function refuse (what: string): never {
  throw new Error(`a file that shares its process ${what}: add it to OWN in test/groups.ts`)
}

process.chdir = () => refuse('changes the folder')
cluster.setupPrimary = () => refuse('sets up a cluster')

// Mocked clocks of tests have the same prototype.
Object.assign(Object.getPrototypeOf(mock.timers) as object, { enable: () => refuse('mocks a timer') })

// Libraries delete variables that are not there; that changes nothing.
const guarded: ProxyHandler<NodeJS.ProcessEnv> = {
  set: (env, name, value) => env[String(name)] === String(value) || refuse(`sets the variable ${String(name)}`),
  deleteProperty: (env, name) => !Object.hasOwn(env, name) || refuse(`removes the variable ${String(name)}`),
  defineProperty: (_env, name) => refuse(`defines the variable ${String(name)}`)
}
Object.defineProperty(process, 'env', { value: new Proxy(process.env, guarded) })
syncBuiltinESMExports()
