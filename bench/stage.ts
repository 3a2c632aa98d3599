import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type ServerProcess, startServer } from './processes.ts'

/** Where the servers of a benchmark run. */
export interface Stage {
  readonly folder: string
  /** Starts a script or a program as `startServer` does; the end of the stage is its end. */
  start (script: string | readonly [string, ...string[]], environment: Readonly<Record<string, string>>, core?: number, origin?: string): Promise<ServerProcess>
}

/** Sets a stage up for `play`, and clears it away. */
export async function onStage<T> (play: (stage: Stage) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'bench-'))
  const servers: ServerProcess[] = []
  try {
    return await play({
      folder,
      async start (script, environment, core, origin) {
        const server = await startServer(script, environment, join(folder, `${servers.length}.log`), core, origin)
        servers.push(server)
        return server
      }
    })
  } finally {
    for (const server of servers) server.stop()
    await rm(folder, { recursive: true })
  }
}
