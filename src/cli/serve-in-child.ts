import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { constants } from 'node:os'

const SIGNALS = ['SIGINT', 'SIGTERM'] as const

const CHILD = 'APS_SERVES_FOR'

/** For flags that Node reads only at its start. If this process dies, the channel closes, and the child ends, too. */
export async function serveInChild (flags: readonly string[]): Promise<never> {
  const [program, ...rest] = process.argv.slice(1) as [string, ...string[]]
  const child = spawn(process.execPath, [...process.execArgv, ...flags, program, ...rest], {
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
    env: { ...process.env, [CHILD]: String(process.pid) },
    // A group of its own: Ctrl-C goes to a whole group, and a second signal would not wait for requests.
    detached: process.platform !== 'win32'
  })
  for (const signal of SIGNALS) process.on(signal, () => { child.kill(signal) })
  const [code, signal] = await once(child, 'exit') as [number | null, NodeJS.Signals | null]
  process.exit(code ?? (signal === null ? 1 : 128 + constants.signals[signal]))
}

/** Does nothing unless `serveInChild` has started this process. */
export function endWithParent (): void {
  if (process.env[CHILD] === undefined || process.channel === undefined) return
  delete process.env[CHILD]
  process.once('disconnect', () => { process.kill(process.pid, 'SIGTERM') })
  // The channel to the parent would keep the process alive.
  process.channel.unref()
}
