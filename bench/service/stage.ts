import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type ServerProcess, startServer } from '../processes.ts'
import { writeStore } from './payload.ts'
import { buildWithoutExplain } from './without-explain.ts'

/** Where the servers of a benchmark run, and what they find there. */
export interface Stage {
  readonly folder: string
  /** A store of 1,100 prompts, of which 1,000 are written in Handlebars. */
  readonly store: string
  /** Starts a script or a program; the end of the stage is its end. */
  start (script: string, environment: Readonly<Record<string, string>>): Promise<ServerProcess>
  /** Starts the service, as built, over a store. */
  startService (store: string, environment?: Readonly<Record<string, string>>): Promise<ServerProcess>
  /** The same of a build that cannot explain. */
  startWithoutExplain (store: string): Promise<ServerProcess>
}

/** Sets a stage up for `play`, and clears it away. */
export async function onStage<T> (play: (stage: Stage) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'bench-service-'))
  const servers: ServerProcess[] = []
  const start: Stage['start'] = async (script, environment) => {
    const server = await startServer(script, environment, join(folder, `${servers.length}.log`))
    servers.push(server)
    return server
  }
  try {
    const store = join(folder, 'store')
    await writeStore(store, 1000, 0)
    return await play({
      folder,
      store,
      start,
      startService: (of, environment = {}) => start('dist/main.js', { STORE_DIR: of, PORT: '0', ...environment }),
      startWithoutExplain: async of => await start(await buildWithoutExplain(), { STORE_DIR: of, PORT: '0' })
    })
  } finally {
    for (const server of servers) server.stop()
    await rm(folder, { recursive: true })
  }
}
