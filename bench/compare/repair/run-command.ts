import { spawn } from 'node:child_process'
import { once } from 'node:events'

/** What a command line program has printed, and its exit code. */
export interface Ran { readonly code: number | null, readonly output: string }

const LONGEST = 180_000

/** Runs a program as a person would who types these lines, one after the other. @param lines its input, which then ends */
export async function runCommand (program: string, words: readonly string[], { cwd, env, lines }: { readonly cwd: string, readonly env: Readonly<Record<string, string>>, readonly lines: readonly string[] }): Promise<Ran> {
  const child = spawn(program, words, { cwd, env: { PATH: process.env['PATH'] ?? '', LANG: 'C.UTF-8', ...env }, timeout: LONGEST, killSignal: 'SIGKILL' })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => { output += chunk.toString() })
  child.stdin.on('error', () => {})
  child.stdin.end(lines.map(line => `${line}\n`).join(''))
  const [code] = await once(child, 'close') as [number | null]
  return { code, output }
}
