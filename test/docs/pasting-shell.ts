import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { type TestContext } from 'node:test'

/** A shell that a reader has open: what one command sets, the next one has. */
export interface PastingShell {
  /** Pastes a script, and waits for it. Its two streams come as one, as on a terminal; it has nothing to read. */
  paste (script: string): Promise<{ readonly printed: string, readonly status: number }>
}

/** @param spare a folder for its own files */
export function openShell (t: Pick<TestContext, 'after'>, cwd: string, spare: string, environment: Readonly<Record<string, string>>): PastingShell {
  const bash = spawn('bash', ['--norc', '--noprofile'], { cwd, env: environment, stdio: ['pipe', 'pipe', 'inherit'] })
  t.after(async () => {
    bash.stdin.end()
    if (bash.exitCode === null) await once(bash, 'exit')
  })
  const lines = createInterface({ input: bash.stdout })[Symbol.asyncIterator]()
  const [file, output] = [join(spare, 'pasted.sh'), join(spare, 'printed')]
  bash.stdin.write('shopt -s expand_aliases\n')
  return {
    async paste (script) {
      await writeFile(file, script)
      bash.stdin.write(`source '${file}' > '${output}' 2>&1 < /dev/null; echo "$?"\n`)
      const { value } = await lines.next()
      return { printed: await readFile(output, 'utf8'), status: Number(value) }
    }
  }
}
