import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { isDeepStrictEqual, parseEnv } from 'node:util'
import { readScript } from '../../src/llm/read-script.ts'
import { runApsHere } from '../helpers/aps.ts'
import { createTemporaryFolder } from '../helpers/temporary-folder.ts'

async function folderFor (t: TestContext) {
  const folder = await createTemporaryFolder()
  t.after(folder.remove)
  return folder
}

describe('init', () => {
  const parts = [
    ['a prompt', [], ['.env', '.gitignore', 'README.md', 'demo/prompt.yaml', 'environs/team/tone.json', 'templates/team/greet.yaml']],
    ['an agent', ['--with', 'agent'], ['agents/desk.yaml', 'tool-server.mjs', 'tools/team/find.yaml']],
    ['a skill', ['--with', 'skill'], ['skills/disk-report/SKILL.md']],
    ['a plan', ['--with', 'plan'], ['operator.yaml', 'project/src/price.js']]
  ] as const
  for (const [what, options, files] of parts) {
    it(`writes ${what}`, async t => {
      const { path } = await folderFor(t)
      const { code, stdout } = await runApsHere(['init', join(path, 'mine'), ...options])
      assert.equal(code, 0)
      assert.ok(stdout.endsWith(`\nnext: cd ${join(path, 'mine')} && npx ai-prompt-shell serve\n`), stdout)
      for (const file of files) {
        assert.ok(stdout.includes(`\n  ${file}\n`), file)
        assert.notEqual(await readFile(join(path, 'mine', file), 'utf8'), '')
      }
    })
  }

  it('writes several parts, whose scripted replies work together', async t => {
    const { path } = await folderFor(t)
    assert.equal((await runApsHere(['init', path, '--with', 'agent,skill', '--with', 'plan'])).code, 0)
    const rules = readScript(join(path, 'demo'))
    for (const part of ['prompt', 'agent', 'skill', 'plan']) {
      const own = readScript(join(path, 'demo', `${part}.yaml`))
      assert.deepEqual(rules.filter(rule => own.some(each => isDeepStrictEqual(each, rule))), own, part)
    }
    assert.deepEqual(parseEnv(await readFile(join(path, '.env'), 'utf8')), { STORE_DIR: '.', LLM_BASE_URL: 'builtin:script', LLM_SCRIPT_FILE: 'demo', OPERATOR_FILE: 'operator.yaml', ALLOW_ROOT: 'true' })
  })

  it('adds to a folder, leaves what is there, and tells what its .env lacks', async t => {
    const folder = await folderFor(t)
    await runApsHere(['init', folder.path])
    await folder.write('operator.yaml', 'mine')
    const { code, stdout, stderr } = await runApsHere(['init', folder.path, '--with', 'plan', '--json'])
    assert.deepEqual([code, JSON.parse(stdout)], [0, ['README.plan.md', 'demo/plan.yaml', 'project/package.json', 'project/src/price.js', 'project/test/price.test.js']])
    assert.equal(stderr, `left as they are in ${folder.path}/: .env, .gitignore, README.md, demo/prompt.yaml, environs/team/tone.json, operator.yaml, templates/team/greet.yaml\n.env lacks what these parts want: ALLOW_ROOT=true OPERATOR_FILE=operator.yaml\n`)
    assert.equal(await readFile(join(folder.path, 'operator.yaml'), 'utf8'), 'mine')
  })

  it('says that nothing was written where all of its files are there', async t => {
    const { path } = await folderFor(t)
    await runApsHere(['init', path])
    const { code, stdout, stderr } = await runApsHere(['init', path])
    assert.deepEqual([code, stdout], [1, ''])
    assert.match(stderr, /^aps: nothing was written: .* has \.env, .* already\n$/)
  })

  it('refuses a part that is not there, and names those that are', async () => {
    const { code, stderr } = await runApsHere(['init', 'nowhere', '--with', 'agent,tool'])
    assert.deepEqual([code, stderr], [2, 'aps: option \'--with <part>\' argument \'agent,tool\' is invalid. Expected agent, skill, plan, got "tool".\n'])
  })
})
