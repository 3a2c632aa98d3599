import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { type JsonObject } from '../base/json.ts'
import { Clip } from '../exec/clip.ts'
import { type Cli } from './cli.ts'

/** What is kept of each stream, in bytes. */
const KEPT = 64 * 1024

/** Runs a command in the user's own shell and folder, for a skill that leaves its commands to its user. */
export async function runHere (command: string, { signal }: Cli): Promise<JsonObject> {
  const child = spawn('/bin/sh', ['-c', command], { stdio: ['ignore', 'pipe', 'pipe'], signal })
  const [stdout, stderr] = [new Clip(KEPT), new Clip(KEPT)]
  child.stdout.on('data', (bytes: Buffer) => { stdout.append(bytes) })
  child.stderr.on('data', (bytes: Buffer) => { stderr.append(bytes) })
  const [exitCode] = await once(child, 'close') as [number | null]
  // A signal has no code of its own: shells say 128 and its number, of which nobody needs more than that it failed.
  return { stdout: stdout.text(), stderr: stderr.text(), exitCode: exitCode ?? 128, command }
}
