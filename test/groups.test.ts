import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { describe, it } from 'node:test'
import { ALONE, GROUPED } from './groups.ts'

const GUARD = new URL('helpers/group-guard.ts', import.meta.url)

/** Runs a module behind the guard, in a process of its own. @returns what it said as it ended, nothing when all was well */
function guarded (code: string): string {
  const { stderr } = spawnSync(process.execPath, ['--import', 'tsx', '--input-type=module', '--eval', `import '${GUARD.href}'\n${code}`], { encoding: 'utf8', env: { ...process.env, PRESENT: 'yes', NODE_NO_WARNINGS: '1' } })
  return stderr
}

describe('The lists of tests that share a process, or run alone', () => {
  for (const [name, list] of Object.entries({ GROUPED, ALONE })) {
    it(`${name} has files that are there, sorted and each once`, () => {
      assert.deepEqual(list.filter(file => !existsSync(new URL(file, import.meta.url))), [])
      assert.deepEqual(list, [...new Set(list)].sort())
    })
  }

  it('have no file in common', () => {
    assert.deepEqual(GROUPED.filter(file => ALONE.includes(file)), [])
  })
})

describe('A grouped file', () => {
  const refused: ReadonlyArray<readonly [what: string, code: string, reason: RegExp]> = [
    ['starts a process', 'import { spawn } from "node:child_process"; spawn("true")', /starts a process \(spawn\)/],
    ['forks', 'import childProcess from "node:child_process"; childProcess.fork("x.js")', /starts a process \(fork\)/],
    ['starts a worker', 'import { Worker } from "node:worker_threads"; new Worker("", { eval: true })', /starts a worker/],
    ['mocks a timer', 'import { mock } from "node:test"; mock.timers.enable()', /mocks a timer/],
    ['mocks a timer of its own', 'import { it } from "node:test"; it("x", t => { try { t.mock.timers.enable() } catch ({ message }) { console.error(message) } })', /mocks a timer/],
    ['sets a variable', 'process.env.NEW = "1"', /sets the variable NEW/],
    ['removes a variable', 'delete process.env.PRESENT', /removes the variable PRESENT/]
  ]
  for (const [what, code, reason] of refused) {
    it(`fails when it ${what}, and is told where it belongs`, () => {
      const said = guarded(code)
      assert.match(said, reason)
      assert.match(said, /take it out of GROUPED in test\/groups\.ts/)
    })
  }

  it('may leave the environment as it is, and read it', () => {
    assert.equal(guarded('process.env.PRESENT = "yes"; delete process.env.ABSENT; if (process.env.PRESENT !== "yes") throw new Error("no")'), '')
  })
})
