import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { whyNoSandbox } from '../../src/exec/local-executor.ts'
import { commandLines } from '../helpers/processes.ts'
import { createTemporaryFolder } from '../helpers/temporary-folder.ts'
import { waitFor } from '../helpers/wait-for.ts'

const why = await whyNoSandbox()

/** Commands that do not end by themselves, and what in the list of processes is theirs. */
const commands: ReadonlyArray<readonly [string, (mark: string) => string]> = [
  ['a command', mark => `echo ready; exec sleep ${mark}`],
  ['a command that ignores every signal it can', mark => `trap "" TERM HUP INT PIPE; echo ready; while :; do sleep ${mark}; done`],
  ['grandchildren in the background', mark => `sh -c 'sh -c "sleep ${mark} & sleep ${mark}" & sleep ${mark}' & echo ready; wait`],
  ['a command that prints without an end', mark => `echo ready; sleep ${mark} & yes`]
]

describe('after kill -9 of the service', () => {
  for (const [sandbox, all] of [['off', commands], ['required', [...commands, ['a daemon', (mark: string) => `setsid -f sleep ${mark}; echo ready; sleep ${mark}`] as const]]] as const) {
    for (const [what, command] of all) {
      it(`${what} is gone within 3 s, ${sandbox === 'off' ? 'without a sandbox' : 'in a sandbox'}`, { skip: sandbox === 'required' && why !== undefined ? `bubblewrap does not work here: ${why}` : false }, async t => {
        const folder = await createTemporaryFolder()
        t.after(folder.remove)
        // As an argument of sleep, it tells these processes from all others.
        const mark = String(1e6 + Math.floor(Math.random() * 1e9))
        const service = spawn(process.execPath, ['--import', 'tsx', join(import.meta.dirname, 'lifeline-child.ts'), folder.path, sandbox, command(mark)], { stdio: ['ignore', 'pipe', 'inherit'] })
        await once(service.stdout, 'data')
        const before = await processesWith(mark)
        assert.equal(before.length > 0, true)
        service.kill('SIGKILL')
        const killed = performance.now()
        await waitFor('no process of it', async () => (await processesWith(mark)).length === 0, 3000)
        t.diagnostic(`${before.length} processes, ${Math.round(performance.now() - killed)} ms`)
      })
    }
  }
})

/** The processes with a text in their command line, without the service itself. */
async function processesWith (mark: string): Promise<number[]> {
  const lines = await commandLines()
  return lines.filter(({ words }) => words.includes(mark) && !words.includes('lifeline-child')).map(({ pid }) => pid)
}
