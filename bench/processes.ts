import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'

/** A server in a process of its own. */
export interface ServerProcess {
  readonly origin: string
  stop (): void
}

/** Starts a script and waits until it says where it listens. */
export async function startServer (script: string, environment: Readonly<Record<string, string>>): Promise<ServerProcess> {
  const child: ChildProcess = spawn(process.execPath, [...(script.endsWith('.ts') ? ['--import', 'tsx'] : []), script], {
    env: { PATH: process.env['PATH'], NODE_ENV: 'production', ...environment },
    stdio: ['ignore', 'pipe', 'inherit', 'ipc']
  })
  const origin = await new Promise<string>((resolve, reject) => {
    if (child.stdout === null) return reject(new Error('no output'))
    const lines = createInterface({ input: child.stdout })
    lines.on('line', line => {
      const found = /Server listening at (http:\/\/[\d.]+:\d+)/.exec(line)?.[1]
      if (found !== undefined) resolve(found)
    })
    child.once('exit', code => reject(new Error(`${script} ended with ${code}`)))
  })
  return { origin, stop: () => child.kill('SIGKILL') }
}
