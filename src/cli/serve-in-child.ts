import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { constants } from 'node:os'

const SIGNALS = ['SIGINT', 'SIGTERM'] as const

/** Says to a child that was started by `serveInChild` that it is one, and ends with its parent. */
export const CHILD = 'APS_SERVES_FOR'

/**
 * Runs this command line again in a child, with flags that Node reads at its start only. Signals go on to it, its exit code is that of this
 * process, and it ends when this process is gone: then the channel between them is closed.
 * @param flags of Node
 */
export async function serveInChild (flags: readonly string[]): Promise<never> {
  const [program, ...rest] = process.argv.slice(1) as [string, ...string[]]
  const child = spawn(process.execPath, [...process.execArgv, ...flags, program, ...rest], {
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
    env: { ...process.env, [CHILD]: String(process.pid) },
    // In a group of its own: Ctrl-C reaches all of a group, and a service that hears it twice does not wait for its requests.
    detached: process.platform !== 'win32'
  })
  for (const signal of SIGNALS) process.on(signal, () => { child.kill(signal) })
  const [code, signal] = await once(child, 'exit') as [number | null, NodeJS.Signals | null]
  process.exit(code ?? (signal === null ? 1 : 128 + constants.signals[signal]))
}

/** In such a child: ends it in order when its parent is gone. Does nothing elsewhere. */
export function endWithParent (): void {
  if (process.env[CHILD] === undefined || process.channel === undefined) return
  delete process.env[CHILD]
  process.once('disconnect', () => { process.kill(process.pid, 'SIGTERM') })
  // The channel alone keeps no process alive.
  process.channel.unref()
}
