import { spawn } from 'node:child_process'
import { EventEmitter, once } from 'node:events'
import { resolve } from 'node:path'
import { PassThrough, Writable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { runProgram } from '../../src/cli/program.ts'

/** How a run of the command line has ended. */
export interface ApsRun { readonly code: number | null, readonly stdout: string, readonly stderr: string }

/**
 * Starts the built command line as a process, its output piped: for what only a process has, such as signals and its own working folder. All else runs
 * here. A dialogue whose environment has a store is held in its process (`--local`).
 * @param cwd the folder that its user is in
 */
export function startAps (args: readonly string[], environment: Readonly<Record<string, string>> = {}, cwd = '.') {
  return spawn(process.execPath, [resolve('dist/cli/aps.js'), ...withLocal(args, environment)], { cwd, env: { PATH: process.env['PATH'], ...environment }, stdio: ['pipe', 'pipe', 'pipe'] })
}

function withLocal (args: readonly string[], environment: Readonly<Record<string, string>>): readonly string[] {
  const [group = '', verb, ...more] = args
  const isLocal = !more.includes('--url') && ['agent', 'plan', 'skill'].includes(group) && verb !== 'approve' && environment['STORE_DIR'] !== undefined
  return isLocal ? [...args, '--local'] : args
}

/** Runs the built command line as a process to its end. @param input what stdin has; it stays open without it */
export async function runAps (args: readonly string[], environment: Readonly<Record<string, string>> = {}, input?: string, cwd?: string): Promise<ApsRun> {
  const child = startAps(args, environment, cwd)
  if (input !== undefined) child.stdin.end(input)
  const [[code], stdout, stderr] = await Promise.all([once(child, 'close') as Promise<[number | null]>, text(child.stdout), text(child.stderr)])
  return { code, stdout, stderr }
}

/** Starts a command in this process, which costs a hundredth of a process of its own. Its user types into `stdin`, and reads what is `printed` so far. */
export function startApsHere (args: readonly string[], environment: Readonly<Record<string, string>> = {}) {
  const stdin = new PassThrough()
  const printed = { stdout: '', stderr: '' }
  const pipe = (name: keyof typeof printed) => new Writable({
    write (chunk: Buffer, _encoding, done) {
      printed[name] += chunk.toString()
      done()
    }
  })
  const host = Object.assign(new EventEmitter(), {
    argv: ['node', 'aps', ...withLocal(args, environment)],
    env: { PATH: process.env['PATH'], ...environment },
    stdin,
    stdout: pipe('stdout'),
    stderr: pipe('stderr'),
    exit (code: number) { throw new Error(`the program exits at once, with ${code}`) }
  })
  const ended = runProgram(host).then((code): ApsRun => ({ code, ...printed }))
  return { stdin, printed, ended, interrupt: () => { host.emit('SIGINT') } }
}

/**
 * Runs a command in this process to its end.
 * @param input what stdin has; it stays open without it
 * @param cwd the folder that its user is in; only for files of tests that have a process of their own
 */
export async function runApsHere (args: readonly string[], environment: Readonly<Record<string, string>> = {}, input?: string, cwd?: string): Promise<ApsRun> {
  const before = process.cwd()
  if (cwd !== undefined) process.chdir(cwd)
  try {
    const { stdin, ended } = startApsHere(args, environment)
    if (input !== undefined) stdin.end(input)
    return await ended
  } finally {
    if (process.cwd() !== before) process.chdir(before)
  }
}
