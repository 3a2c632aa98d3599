import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { resolve as resolvePath } from 'node:path'
import { createInterface } from 'node:readline'
import { type TestContext } from 'node:test'

/** The built service as a process of its own. */
export interface ServiceProcess {
  readonly url: string
  readonly process: ChildProcess
  /** Log lines so far. */
  readonly log: readonly string[]
}

/** What a process that does not start leaves behind. */
export interface FailedStart { readonly code: number | null, readonly stderr: string }

/** Starts `node dist/main.js` on a free port and waits until it listens; killed after the test. @param cwd the folder that it is started in */
export async function startProcess (t: Pick<TestContext, 'after'>, environment: Readonly<Record<string, string>>, cwd?: string): Promise<ServiceProcess> {
  const child = spawnService(environment, cwd)
  t.after(async () => {
    if (child.exitCode === null && child.signalCode === null) {
      child.kill('SIGKILL')
      await once(child, 'exit')
    }
  })
  const log: string[] = []
  const lines = createInterface({ input: child.stdout })
  return await new Promise((resolve, reject) => {
    lines.on('line', line => {
      log.push(line)
      const url = /Server listening at (http:\/\/[\d.]+:\d+)/.exec(line)?.[1]
      if (url !== undefined) resolve({ url, process: child, log })
    })
    child.once('exit', code => { reject(new Error(`the service ended with ${code}: ${log.join('\n')}`)) })
  })
}

/** Starts `node dist/main.js` with a configuration that it refuses. */
export async function failToStart (environment: Readonly<Record<string, string>>): Promise<FailedStart> {
  const child = spawnService(environment)
  let stderr = ''
  child.stderr.on('data', (chunk: Buffer) => { stderr += chunk.toString() })
  const [code] = await once(child, 'close') as [number | null]
  return { code, stderr }
}

/** Starts `node dist/main.js`, whose end the test sees to. */
export function spawnService (environment: Readonly<Record<string, string>>, cwd = '.') {
  const child = spawn(process.execPath, [resolvePath('dist/main.js')], {
    cwd,
    env: { PATH: process.env['PATH'], PORT: '0', RENDER_TIMEOUT_MS: '10000', ...environment },
    stdio: ['ignore', 'pipe', 'pipe']
  })
  child.stderr.resume()
  return child
}
