import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { pathToFileURL } from 'node:url'
import { createTemporaryFolder } from './helpers/temporary-folder.ts'

/** The scripts are no part of what is compiled. */
const scripts = (file: string) => pathToFileURL(join(process.cwd(), 'scripts/testing', file)).href

/** Runs a module as a script of npm is run. */
function runScript (code: string, cwd = process.cwd()): { status: number | null, stdout: string } {
  // A runner in a runner would report to the outer one.
  const { NODE_TEST_CONTEXT: _, ...env } = process.env
  return spawnSync(process.execPath, ['--input-type=module', '--eval', code], { cwd, encoding: 'utf8', env })
}

function given<T> (code: string): T {
  const { stdout } = runScript(code)
  return JSON.parse(stdout) as T
}

const near = (changed: readonly string[]) => given<string[]>(`
  import { nearTests } from '${scripts('near.js')}'
  const tests = ['imports.test.ts', 'json.test.ts', 'template/detect-syntax.test.ts', 'registry/decode-value.test.ts', 'docs/links.test.ts', 'groups.test.ts']
  console.log(JSON.stringify(nearTests(tests, ${JSON.stringify(changed)})))`)

describe('The lanes of tests', () => {
  async function inFolder (t: TestContext, files: Readonly<Record<string, string>>, lanes: object[], isLinted = true) {
    const folder = await createTemporaryFolder()
    t.after(folder.remove)
    for (const [name, text] of Object.entries(files)) await folder.write(name, `import { it } from 'node:test'\n${text}`)
    return runScript(`
      import { runLanes } from '${scripts('lanes.js')}'
      process.exitCode = await runLanes(${JSON.stringify(lanes)}, Promise.resolve(${isLinted})) ? 0 : 1`, folder.path)
  }

  it('are all run, counted together, and fail when one of them does', async t => {
    const files = { 'a.test.mjs': 'it("fails", () => { throw new Error("so it is") })', 'b.test.mjs': 'it("passes", () => {}); it.skip("is skipped", () => {})' }
    const { status, stdout } = await inFolder(t, files, [{ name: 'one', files: ['a.test.mjs'], atATime: 1 }, { name: 'two', files: ['b.test.mjs'], atATime: 2 }])
    assert.equal(status, 1)
    assert.match(stdout, /failing tests of all lanes:\n✖ fails \(.*a\.test\.mjs\)\n\nlanes that failed: one\n/)
    assert.match(stdout, /all lanes\nℹ tests 3\nℹ suites 0\nℹ pass 1\nℹ fail 1\nℹ cancelled 0\nℹ skipped 1\nℹ todo 0\nℹ duration_ms \d+\n$/)
  })

  it('pass when all of them do', async t => {
    const { status, stdout } = await inFolder(t, { 'a.test.mjs': 'it("passes", () => {})' }, [{ name: 'one', files: ['a.test.mjs'], atATime: 1 }])
    assert.equal(status, 0)
    assert.doesNotMatch(stdout, /failed/)
  })

  it('fail with the lint, whose end those that are alone wait for', async t => {
    const { status, stdout } = await inFolder(t, { 'a.test.mjs': 'it("passes", () => {})' }, [{ name: 'one', files: ['a.test.mjs'], atATime: 1 }], false)
    assert.equal(status, 1)
    assert.match(stdout, /ℹ pass 1\n[^]*\nthe lint failed: see above\n$/)
  })

  it('fail when one has no such file', async t => {
    const { status, stdout } = await inFolder(t, {}, [{ name: 'one', files: ['gone.test.mjs'], atATime: 1 }])
    assert.equal(status, 1)
    assert.match(stdout, /lanes that failed: one\n/)
  })
})

describe('Tests that are near to a change', () => {
  const cases: ReadonlyArray<readonly [what: string, changed: readonly string[], tests: readonly string[]]> = [
    ['import what was changed, directly', ['src/base/json.ts'], ['json.test.ts', 'registry/decode-value.test.ts']],
    ['import what was changed, through others', ['src/template/syntax/prescan.ts'], ['template/detect-syntax.test.ts', 'registry/decode-value.test.ts']],
    ['were changed themselves', ['test/imports.test.ts'], ['imports.test.ts']],
    ['name a file beside them', ['test/template/detect-syntax.yaml'], ['template/detect-syntax.test.ts']],
    ['read every page', ['docs/chat.md'], ['docs/links.test.ts']],
    ['are none where nothing reaches it', ['bench/chat.ts'], []]
  ]
  for (const [what, changed, tests] of cases) {
    it(what, () => { assert.deepEqual(near(changed), tests) })
  }
})
