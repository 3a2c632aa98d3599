import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { constants } from 'node:os'

const SIGNALS = ['SIGINT', 'SIGTERM'] as const

/** The environment variable that tells a process that `serveInChild` has started it. */
export const CHILD = 'APS_SERVES_FOR'

/**
 * Runs this command line again in a child process, with flags that Node reads only at its start. Signals are passed on to the child, and
 * its exit code becomes that of this process. When this process dies, the channel between both closes, and the child ends, too.
 * @param flags for Node
 */
export async function serveInChild (flags: readonly string[]): Promise<never> {
  const [program, ...rest] = process.argv.slice(1) as [string, ...string[]]
  const child = spawn(process.execPath, [...process.execArgv, ...flags, program, ...rest], {
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
    env: { ...process.env, [CHILD]: String(process.pid) },
    // The child gets a process group of its own. The terminal sends Ctrl-C to a whole group; a service that gets the signal twice would not
    // wait for its requests.
    detached: process.platform !== 'win32'
  })
  for (const signal of SIGNALS) process.on(signal, () => { child.kill(signal) })
  const [code, signal] = await once(child, 'exit') as [number | null, NodeJS.Signals | null]
  process.exit(code ?? (signal === null ? 1 : 128 + constants.signals[signal]))
}

/** Stops this process gracefully when its parent dies, if `serveInChild` has started it. Does nothing elsewhere. */
export function endWithParent (): void {
  if (process.env[CHILD] === undefined || process.channel === undefined) return
  delete process.env[CHILD]
  process.once('disconnect', () => { process.kill(process.pid, 'SIGTERM') })
  // Without this, the channel to the parent would keep the process alive.
  process.channel.unref()
}
