import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type CandidateParser, createCandidateParser } from '../../src/service/lint/lint-candidate.ts'

function started (t: { after (end: () => Promise<void>): void }): CandidateParser {
  const parser = createCandidateParser()
  t.after(() => parser.close())
  return parser
}

const prompt = (text: string) => ({ kind: 'templates', id: 'p', text })

describe('createCandidateParser', () => {
  it('gives what a registration would become, with all its digits', async t => {
    const { prompts } = await started(t).parse(prompt('{"userPrompt":"{{variables.n}}","parameters":[{"name":"n","default":9007199254740993}]}'))
    assert.deepEqual([prompts[0]?.id, prompts[0]?.compiled.texts[0]?.paths[0]?.path, prompts[0]?.parameters?.defaults], ['p', 'variables.n', { n: 9007199254740993n }])
  })

  it('answers each of many at once with its own', async t => {
    const parser = started(t)
    const answers = await Promise.all(['a', 'b', 'c', 'd'].map(name => parser.parse(prompt(`{{variables.${name}}}`))))
    assert.deepEqual(answers.map(({ prompts }) => prompts[0]?.compiled.texts[0]?.paths[0]?.path), ['variables.a', 'variables.b', 'variables.c', 'variables.d'])
  })

  it('refuses more than can wait', async t => {
    const parser = started(t)
    const outcomes = await Promise.allSettled(Array.from({ length: 30 }, () => parser.parse(prompt('x'))))
    const refused = outcomes.filter(outcome => outcome.status === 'rejected').map(outcome => (outcome.reason as { code: string }).code)
    assert.ok(refused.length > 0 && refused.length < 30)
    assert.deepEqual([...new Set(refused)], ['LINT_BUSY'])
  })

  it('gives up on a candidate that takes too long, and starts anew with the next', async t => {
    const parser = createCandidateParser(1)
    t.after(() => parser.close())
    for (let round = 0; round < 2; round++) {
      const { diagnostics, prompts } = await parser.parse(prompt('{{variables.a.b}} '.repeat(2000)))
      assert.deepEqual([diagnostics.map(({ code }) => code), prompts], [['TOO_COMPLEX'], []])
    }
  })

  it('leaves the time that loading takes out of the first candidate\'s time', async t => {
    const parsers = Array.from({ length: 5 }, () => createCandidateParser(100))
    t.after(() => Promise.all(parsers.map(parser => parser.close())))
    const found: number[] = []
    // Where loading counts, no one of them is in time. On a busy machine some are late all the same.
    for (const parser of parsers) found.push((await parser.parse(prompt('{"userPrompt":"{{variables.n}}","parameters":[{"name":"n"}]}'))).diagnostics.length)
    assert.ok(found.includes(0))
  })

  it('closes twice, and takes nothing after', async () => {
    const parser = createCandidateParser()
    await parser.parse(prompt('x'))
    await parser.close()
    await parser.close()
    await assert.rejects(parser.parse(prompt('x')), { code: 'LINT_BUSY' })
  })
})
