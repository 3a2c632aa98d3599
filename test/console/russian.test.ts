import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { numberIn, plural } from '../../console/text/plural.ts'
import { ruleInRussian } from '../../console/text/rules-ru.ts'

/** The rules that the service words, those with names as they are written there. */
const RULES = ['command-rules.ts', 'gate.ts', 'effects.ts'].flatMap(file => Array.from(
  readFileSync(`src/session/${file}`, 'utf8').matchAll(/['`]([^'`\n]*(?:one by one|third time|may have been done|is a command)[^'`\n]*)['`]/g),
  ([, rule]) => rule as string
))

describe('The console in Russian', () => {
  it('counts as Russian does, also what is shown with spaces between its digits', () => {
    const n = plural('ru')
    assert.deepEqual(['1', '22', '11', '1\u00a0021'].map(count => n(numberIn(count), 'знак', 'знака', 'знаков')), ['знак', 'знака', 'знаков', 'знак'])
  })

  it('has words for every rule of the service for which a person is asked', () => {
    assert.ok(RULES.length >= 8, String(RULES.length))
    assert.deepEqual(RULES.filter(rule => !/\p{sc=Cyrillic}/u.test(ruleInRussian(rule))), [])
  })

  it('keeps the names that a rule has, and a rule that it does not know', () => {
    assert.equal(ruleInRussian('calls of team.find are approved one by one'), 'каждый вызов team.find требует разрешения')
    assert.equal(ruleInRussian('a rule of tomorrow'), 'a rule of tomorrow')
  })
})
