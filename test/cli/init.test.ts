import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { runAps } from '../helpers/aps.ts'
import { createTemporaryFolder } from '../helpers/temporary-folder.ts'

async function folderFor (t: TestContext) {
  const folder = await createTemporaryFolder()
  t.after(folder.remove)
  return folder
}

describe('init', () => {
  const parts = [
    ['a prompt', [], ['.env', '.gitignore', 'README.md', 'demo.yaml', 'environs/team/tone.json', 'templates/team/greet.yaml']],
    ['an agent', ['--with', 'agent'], ['agents/desk.yaml', 'tool-server.js', 'tools/team/find.yaml']],
    ['a skill', ['--with', 'skill'], ['skills/disk-report/SKILL.md']],
    ['a plan', ['--with', 'plan'], ['operator.yaml', 'project/src/price.js']]
  ] as const
  for (const [what, options, files] of parts) {
    it(`writes ${what}`, async t => {
      const { path } = await folderFor(t)
      const { code, stdout } = await runAps(['init', 'mine', ...options], {}, undefined, path)
      assert.equal(code, 0)
      assert.match(stdout, /^next: cd mine && npx ai-prompt-shell serve$/m)
      for (const file of files) {
        assert.ok(stdout.includes(`\n  ${file}\n`), file)
        assert.notEqual(await readFile(join(path, 'mine', file), 'utf8'), '')
      }
    })
  }

  it('writes nothing where one of its files is there, and names it', async t => {
    const folder = await folderFor(t)
    await folder.write('demo.yaml', 'mine')
    const { code, stdout, stderr } = await runAps(['init'], {}, undefined, folder.path)
    assert.deepEqual([code, stdout, stderr], [1, '', 'aps: nothing was written: this folder has demo.yaml already\n'])
    assert.equal(await readFile(join(folder.path, 'demo.yaml'), 'utf8'), 'mine')
    await assert.rejects(readFile(join(folder.path, '.env')), { code: 'ENOENT' })
  })
})
