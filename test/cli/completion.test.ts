import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { describe, it } from 'node:test'
import { runApsHere } from '../helpers/aps.ts'
import { startService } from '../helpers/service.ts'

describe('aps completion', () => {
  it('offers commands, options, choices and the ids of the service', async t => {
    const service = await startService(t, { 'templates:greet': 'Hello', 'templates:other': 'x', 'environs:team:tone': 'dry' }, { LOG_LEVEL: 'silent' })
    const environment = { APS_URL: await service.listen() }
    const complete = async (...words: readonly string[]) => (await runApsHere(['complete', '--', ...words], environment)).stdout.split('\n').slice(0, -1)
    assert.deepEqual(await complete('prompt', 'ren'), ['render'])
    assert.deepEqual(await complete('prompt', 'render', 'gr'), ['greet'])
    assert.deepEqual(await complete('variable', 'get', ''), ['team.tone'])
    assert.deepEqual(await complete('prompt', 'get', 'greet', '-o', 'j'), ['json'])
    assert.deepEqual(await complete('prompt', 'render', '--rec'), ['--record'])
    assert.deepEqual(await complete('prompt', 'render', '-i', ''), ['greet', 'other'])
    assert.ok((await complete('')).includes('push'))
  })

  for (const shell of ['bash', 'zsh', 'fish']) {
    it(`prints a script that ${shell} can read`, async t => {
      if (spawnSync(shell, ['--version']).status !== 0) return t.skip(`${shell} is not installed`)
      const { stdout } = await runApsHere(['completion', shell])
      assert.equal(spawnSync(shell, ['-n'], { input: stdout }).status, 0)
    })
  }
})
