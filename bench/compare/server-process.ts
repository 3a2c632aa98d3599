import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { createInterface } from 'node:readline'

/** A server in a process of its own, which says where it listens. */
export interface Server { readonly url: string, kill (): Promise<void> }

/** Starts a script in Node. @param log the file that its output is added to */
export async function startServer (script: string, { cwd, env, log }: { readonly cwd: string, readonly env: Readonly<Record<string, string>>, readonly log: string }): Promise<Server> {
  const child: ChildProcess = spawn(process.execPath, [script], { cwd, env: { PATH: process.env['PATH'], ...env }, stdio: ['ignore', 'pipe', 'pipe'] })
  const file = createWriteStream(log, { flags: 'a' })
  const url = new Promise<string>((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr]) {
      if (stream === null) continue
      createInterface({ input: stream }).on('line', line => {
        file.write(`${line}\n`)
        const found = /Server listening at (http:\/\/[\d.]+:\d+)/.exec(line)?.[1]
        if (found !== undefined) resolve(found)
      })
    }
    child.once('exit', code => { reject(new Error(`${script} ended with ${code}: ${log}`)) })
  })
  return {
    url: await url,
    async kill () {
      if (child.exitCode !== null || child.signalCode !== null) return
      const gone = once(child, 'exit')
      child.kill('SIGKILL')
      await gone
    }
  }
}
