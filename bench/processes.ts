import { type ChildProcess, spawn } from 'node:child_process'
import { openSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'

/** A server in a process of its own. */
export interface ServerProcess {
  readonly origin: string
  stop (): void
}

/**
 * Starts a script and waits until it says where it listens.
 * @param output the file that it writes to: reading a log is not what the load generator is there for
 */
export async function startServer (script: string, environment: Readonly<Record<string, string>>, output: string): Promise<ServerProcess> {
  const child: ChildProcess = spawn(process.execPath, [...(script.endsWith('.ts') ? ['--import', 'tsx'] : []), script], {
    env: { PATH: process.env['PATH'], NODE_ENV: 'production', ...environment },
    stdio: ['ignore', openSync(output, 'w'), 'inherit', 'ipc']
  })
  for (;;) {
    const origin = /Server listening at (http:\/\/[\d.]+:\d+)/.exec(await readFile(output, 'utf8'))?.[1]
    if (origin !== undefined) return { origin, stop: () => child.kill('SIGKILL') }
    if (child.exitCode !== null) throw new Error(`${script} ended with ${child.exitCode}`)
    await sleep(20)
  }
}
