import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { ALONE, OWN, SYSTEM } from './groups.ts'

const GUARD = new URL('helpers/group-guard.ts', import.meta.url)

/** Runs a module behind the guard, in a process of its own. @returns what it said as it ended, nothing when all was well */
function guarded (code: string): string {
  const { stderr } = spawnSync(process.execPath, ['--import', 'tsx', '--input-type=module', '--eval', `import '${GUARD.href}'\n${code}`], { encoding: 'utf8', env: { ...process.env, PRESENT: 'yes', NODE_NO_WARNINGS: '1' } })
  return stderr
}

describe('The lists of tests that have a process of their own, or run alone', () => {
  for (const [name, list] of Object.entries({ SYSTEM, OWN, ALONE })) {
    it(`${name} has files that are there, sorted and each once`, () => {
      assert.deepEqual(list.filter(file => !existsSync(new URL(file, import.meta.url))), [])
      assert.deepEqual(list, [...new Set(list)].sort())
    })
  }

  it('have no file in common', () => {
    assert.deepEqual(OWN.filter(file => ALONE.includes(file)), [])
  })

  it('have nothing alone that `npm test` runs, which asserts no time', () => {
    assert.deepEqual(ALONE.filter(file => !SYSTEM.includes(file)), [])
  })
})

describe('A file that shares its process', () => {
  const refused: ReadonlyArray<readonly [what: string, code: string, reason: RegExp]> = [
    ['changes the folder', 'import { chdir } from "node:process"; chdir("/")', /changes the folder/],
    ['sets up a cluster', 'import cluster from "node:cluster"; cluster.setupPrimary()', /sets up a cluster/],
    ['mocks a timer', 'import { mock } from "node:test"; mock.timers.enable()', /mocks a timer/],
    ['mocks a timer of its own', 'import { it } from "node:test"; it("x", t => { try { t.mock.timers.enable() } catch ({ message }) { console.error(message) } })', /mocks a timer/],
    ['sets a variable', 'process.env.NEW = "1"', /sets the variable NEW/],
    ['removes a variable', 'delete process.env.PRESENT', /removes the variable PRESENT/]
  ]
  for (const [what, code, reason] of refused) {
    it(`fails when it ${what}, and is told where it belongs`, () => {
      const said = guarded(code)
      assert.match(said, reason)
      assert.match(said, /add it to OWN in test\/groups\.ts/)
    })
  }

  it('may leave the environment as it is, and read it', () => {
    assert.equal(guarded('process.env.PRESENT = "yes"; delete process.env.ABSENT; if (process.env.PRESENT !== "yes") throw new Error("no")'), '')
  })

  it('does nothing before or after the tests of others', () => {
    const files = readdirSync(import.meta.dirname, { recursive: true, encoding: 'utf8' }).filter(file => file.endsWith('.test.ts') && !OWN.includes(file))
    assert.deepEqual(files.filter(file => /^(?:before|after)Each\(/m.test(readFileSync(join(import.meta.dirname, file), 'utf8'))), [])
  })
})
