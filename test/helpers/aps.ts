import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { resolve } from 'node:path'
import { PassThrough, Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { runProgram } from '../../src/cli/program/program.ts'

/** How a run of the command line has ended. */
export interface ApsRun { readonly code: number | null, readonly stdout: string, readonly stderr: string }

/**
 * Starts the built command line, its output piped. A dialogue whose environment has a store is held in its process (`--local`).
 * @param cwd the folder that its user is in
 */
export function startAps (args: readonly string[], environment: Readonly<Record<string, string>> = {}, cwd = '.') {
  return spawn(process.execPath, [resolve('dist/cli/aps.js'), ...args, ...(isLocal(args, environment) ? ['--local'] : [])], { cwd, env: { PATH: process.env['PATH'], ...environment }, stdio: ['pipe', 'pipe', 'pipe'] })
}

function isLocal ([group = '', verb, ...more]: readonly string[], environment: Readonly<Record<string, string>>): boolean {
  return !more.includes('--url') && ['agent', 'plan', 'skill'].includes(group) && verb !== 'approve' && environment['STORE_DIR'] !== undefined
}

/** Runs the built command line to its end. @param input what stdin has; it stays open without it */
export async function runAps (args: readonly string[], environment: Readonly<Record<string, string>> = {}, input?: string, cwd?: string): Promise<ApsRun> {
  const child = startAps(args, environment, cwd)
  if (input !== undefined) child.stdin.end(input)
  const [[code], stdout, stderr] = await Promise.all([once(child, 'close') as Promise<[number | null]>, text(child.stdout), text(child.stderr)])
  return { code, stdout, stderr }
}

/** Runs a command of the command line in this process, which costs a hundredth of a process of its own. */
export async function runApsHere (args: readonly string[], environment: Readonly<Record<string, string>> = {}, input = ''): Promise<ApsRun> {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()]
  const host = { argv: ['node', 'aps', ...args], env: environment, stdin: Readable.from([input]), stdout, stderr, on: () => process, off: () => process }
  const printed = Promise.all([text(stdout), text(stderr)])
  const code = await runProgram(host as unknown as Parameters<typeof runProgram>[0])
  stdout.end()
  stderr.end()
  const [out, err] = await printed
  return { code, stdout: out, stderr: err }
}
