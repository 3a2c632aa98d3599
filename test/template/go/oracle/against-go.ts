import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { after, before, describe, it } from 'node:test'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import { createTemporaryFolder, type TemporaryFolder } from '../../../helpers/temporary-folder.ts'
import { runVectors } from '../run-vectors.ts'
import { randomCase } from './random-case.ts'

/** No part of `npm test`: `npm run test:long` runs it, with other cases each time, where Go is installed. */
const COUNT = Number(process.env['GO_TEMPLATES'] ?? 20_000)
const SEED = Number(process.env['GO_SEED'] ?? Date.now() % 2 ** 31)

/** How many of the cases that differ are shown, the shortest first. */
const SHOWN = 10

const hasGo = spawnSync('go', ['version']).status === 0

/** Go prints where a list is in its memory when a damaged format says `%p`. */
const ADDRESS = /0x[\da-f]{7,}/g

describe('random templates', { skip: hasGo ? false : 'Go is not installed' }, () => {
  let folder: TemporaryFolder

  before(async () => {
    folder = await createTemporaryFolder()
  })

  after(() => folder.remove())

  it(`give what Go's own text/template gives, ${COUNT} of them (seed ${SEED})`, { timeout: 1_800_000 }, async () => {
    const program = join(folder.path, 'oracle')
    const build = spawnSync('go', ['build', '-o', program, '.'], { cwd: fileURLToPath(new URL('.', import.meta.url)), encoding: 'utf8' })
    assert.equal(build.status, 0, build.stderr)
    const tapes = fc.array(fc.nat(1_000_000), { minLength: 100, maxLength: 300, size: 'max' })
    const cases = fc.sample(tapes.map(randomCase), { numRuns: COUNT, seed: SEED })
    const input = cases.map((each, index) => JSON.stringify({ id: String(index), ...each })).join('\n')
    const answers = spawnSync(program, { input, encoding: 'utf8', maxBuffer: Infinity })
    assert.equal(answers.status, 0, answers.stderr)
    await folder.write('vectors.jsonl', answers.stdout)

    const verdicts = await runVectors(join(folder.path, 'vectors.jsonl'))
    const wrong = verdicts.filter(({ isRight, expected, got, explained }) => (!isRight && expected.replace(ADDRESS, '0x0') !== got) || explained !== got)
    const described = wrong.map(({ id, expected, got, explained }) => JSON.stringify({ template: cases[Number(id)]?.template, expected, got, explained }, null, 1))
    assert.equal(described.sort((one, other) => one.length - other.length).slice(0, SHOWN).join('\n'), '', `${wrong.length} differ`)
    const texts = verdicts.filter(({ hasMessage }) => hasMessage === undefined)
    assert.ok(texts.length >= COUNT / 5, `only ${texts.length} templates rendered`)
  })
})
