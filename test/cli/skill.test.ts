import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { runAps } from '../helpers/aps.ts'
import { scratchRepository } from '../helpers/scratch-repository.ts'

// The built program as a process, with the examples and the script in place of a model.

describe('aps skill', () => {
  it('commits with git-quick-commit after one question and one approval', async t => {
    const { environment, log } = await scratchRepository(t)
    const { code, stdout, stderr } = await runAps(['skill', 'run', 'git-quick-commit', '--target', 'here'], environment, 'words\ny\n')
    assert.deepEqual([code, stdout, log()], [0, 'Введи сообщение коммита:\nКоммит успешно создан.\n', ['fix: update skills API']])
    assert.match(stderr, /commands are approved one by one: here: git add \. && git commit/)
  })

  it('runs another command in place of the one that waits', async t => {
    const { environment, log } = await scratchRepository(t)
    const { code } = await runAps(['skill', 'run', 'git-quick-commit', '--target', 'here'], environment, 'words\ne git add new.txt && git commit -qm mine\n')
    assert.deepEqual([code, log()], [0, ['mine']])
  })

  for (const [answer, words] of [['n', 'Коммит не создан.'], ['whatever', 'Коммит не создан.'], ['c', undefined]] as const) {
    it(`runs no command that is answered with ${answer}`, async t => {
      const { environment, log } = await scratchRepository(t)
      const { stdout } = await runAps(['skill', 'run', 'git-quick-commit', '--target', 'here'], environment, `words\n${answer}\n`)
      assert.deepEqual([log(), stdout], [[], `Введи сообщение коммита:\n${words === undefined ? '' : `${words}\n`}`])
    })
  }

  it('goes on with a skill whose user has left', async t => {
    const { environment, log } = await scratchRepository(t)
    const kept = { ...environment, SESSION_STORE: join(environment['STATE_DIR'] as string, 'sessions') }
    await runAps(['skill', 'run', 'git-quick-commit', '--target', 'here'], kept, 'words\n')
    assert.deepEqual(log(), [])
    const { code } = await runAps(['skill', 'resume', 'git-quick-commit'], kept, 'y\n')
    assert.deepEqual([code, log()], [0, ['fix: update skills API']])
  })

  it('runs commands here, where no target is named, each after a yes', async t => {
    const { environment } = await scratchRepository(t)
    const { code, stdout, stderr } = await runAps(['skill', 'run', 'disk-cleanup-report'], environment, 'e printf tiny\nn\n')
    assert.equal(code, 0)
    assert.match(stderr, /run it here\? y, n to skip it/)
    assert.match(stdout, /This report is scripted/)
  })
})
