import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { after, before, describe, it } from 'node:test'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import { createTemporaryFolder, type TemporaryFolder } from '../../../helpers/temporary-folder.ts'
import { parseJson } from '../../../../src/base/json.ts'
import { classOf } from '../differences.ts'
import { judge, type Vector, type Verdict } from '../judge.ts'
import { randomCase } from './random-case.ts'

/** No part of `npm test`: `npm run test:long` runs it, with other cases each time, where Go is installed. */
const COUNT = Number(process.env['GO_TEMPLATES'] ?? 20_000)
const SEED = Number(process.env['GO_SEED'] ?? Date.now() % 2 ** 31)

/** How many of the cases that differ are shown, the shortest first. */
const SHOWN = 10

const hasGo = spawnSync('go', ['version']).status === 0

/** Go prints where a list is in its memory when a damaged format says `%p`. */
const ADDRESS = /0x[\da-f]{7,}/g

/** Whether the service gives something else than Go, and no class of differences says why. The words of errors are left to the recorded cases. */
function isFault (verdict: Verdict): boolean {
  const { vector: { wantError }, expected, got } = verdict
  if (got === expected || got === expected.replace(ADDRESS, '0x0')) return false
  return !(wantError !== undefined && got.startsWith(`${wantError}: `)) && classOf(verdict) === undefined
}

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
    const verdicts = answers.stdout.split('\n').filter(line => line !== '').map(line => judge(parseJson(line) as unknown as Vector))
    const wrong = verdicts.filter(verdict => verdict.explained !== verdict.got || isFault(verdict))
    const described = wrong.map(({ vector, expected, got, explained }) => JSON.stringify({ template: vector.template, expected, got, explained }, null, 1))
    assert.equal(described.sort((one, other) => one.length - other.length).slice(0, SHOWN).join('\n'), '', `${wrong.length} differ`)
    const equal = verdicts.filter(({ vector, expected, got }) => vector.want !== undefined && got === expected)
    assert.ok(equal.length >= COUNT / 5, `only ${equal.length} templates gave the same text`)
  })
})
