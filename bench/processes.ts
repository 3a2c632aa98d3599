import { type ChildProcess, spawn } from 'node:child_process'
import { openSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'

/** A server in a process of its own. */
export interface ServerProcess {
  readonly origin: string
  readonly pid: number
  stop (): void
}

/** How long a server may take to say where it listens, in ms. */
const PATIENCE = 60_000

/**
 * Starts a script or a program and waits until it says where it listens.
 * @param output the file that it writes to: reading a log is not what the load generator is there for
 * @param core the only one that it may use, by taskset
 * @param origin where a program listens that does not say so
 */
export async function startServer (
  script: string | readonly [string, ...string[]],
  environment: Readonly<Record<string, string>>,
  output: string,
  core?: number,
  origin?: string
): Promise<ServerProcess> {
  const words = typeof script === 'string' ? commandOf(script) : script
  const [command, ...parts] = core === undefined ? words : ['taskset', '-c', String(core), ...words] as const
  const child: ChildProcess = spawn(command, parts, {
    env: { PATH: process.env['PATH'], NODE_ENV: 'production', ...environment },
    stdio: ['ignore', openSync(output, 'w'), 'inherit', 'ipc']
  })
  const end = performance.now() + PATIENCE
  while (performance.now() < end) {
    const listensAt = origin === undefined
      ? /Server listening at (http:\/\/[\d.]+:\d+)/.exec(await readFile(output, 'utf8'))?.[1]
      : await fetch(origin).then(() => origin, () => undefined)
    if (listensAt !== undefined) return { origin: listensAt, pid: child.pid ?? 0, stop: () => child.kill('SIGKILL') }
    if (child.exitCode !== null) throw new Error(`${words.join(' ')} ended with ${child.exitCode}`)
    await sleep(20)
  }
  child.kill('SIGKILL')
  throw new Error(`${words.join(' ')} does not listen after ${PATIENCE} ms`)
}

/** Scripts run in Node; anything else is a program. */
function commandOf (script: string): [string, ...string[]] {
  if (script.endsWith('.ts')) return [process.execPath, '--import', 'tsx', script]
  return script.endsWith('.js') ? [process.execPath, script] : [script]
}

/** CPU time that a process has used, in ms; `undefined` where the system has no /proc. */
export async function cpuTime (pid: number): Promise<number | undefined> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined)
  if (text === undefined) return undefined
  // Behind the name in parentheses; utime and stime are fields 14 and 15, in ticks of 10 ms (proc(5)).
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) * 10
}

/** Memory of a process that is resident, in MB; `undefined` where the system has no /proc. */
export async function residentMegabytes (pid: number): Promise<number | undefined> {
  const text = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => undefined)
  const kilobytes = /^VmRSS:\s+(\d+)/m.exec(text ?? '')?.[1]
  return kilobytes === undefined ? undefined : Number(kilobytes) / 1024
}
