import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { numberIn, plural } from '../../console/text/plural.ts'
import { errorInRussian } from '../../console/text/errors-ru.ts'
import { reasonInRussian, ruleInRussian } from '../../console/text/rules-ru.ts'
import * as errors from '../../src/base/errors.ts'
import { shellEnd } from '../../src/exec/executor.ts'

/** The rules that the service words, those with names as they are written there. */
const RULES = ['command-rules.ts', 'gate.ts', 'effects.ts'].flatMap(file => Array.from(
  readFileSync(`src/session/${file}`, 'utf8').matchAll(/['`]([^'`\n]*(?:one by one|third time|may have been done|is a command)[^'`\n]*)['`]/g),
  ([, rule]) => rule as string
))

/** The codes of all errors of the service. */
const CODES = Object.values(errors).flatMap(each => typeof each === 'function' && 'code' in each ? [each.code] : [])

describe('The console in Russian', () => {
  it('has words for every error of the service', () => {
    assert.ok(CODES.length > 90, String(CODES.length))
    // Whatever member of the details a sentence names.
    const details = new Proxy({}, { getOwnPropertyDescriptor: () => ({ value: 'x', configurable: true }), get: () => 'x' })
    assert.deepEqual(CODES.filter(code => !/\p{sc=Cyrillic}/u.test(errorInRussian(code, details) ?? '')), [])
  })

  it('names in an error what it is about, and leaves an error that does not say it, or is unknown, to the service', () => {
    const { code, details } = errors.labelNotFound('team.greet', 'beta', [])
    assert.equal(errorInRussian(code, details), 'У промпта «team.greet» нет метки «beta».')
    for (const each of [errors.promptNotFound('a', []), errors.toolNotFound('a', []), errors.roleMissing('ann', 'run', []), errors.inputTooLong('a', 2, 1), errors.versionNotFound('a', 1, [])]) {
      assert.ok(errorInRussian(each.code, each.details) !== undefined, each.code)
    }
    assert.deepEqual([errorInRussian(code), errorInRussian('OF_TOMORROW'), errorInRussian('constructor')], [undefined, undefined, undefined])
  })

  it('says how a shell has ended', () => {
    assert.equal(reasonInRussian(shellEnd({ exitCode: 3 })), 'оболочка завершилась с кодом 3')
    assert.equal(reasonInRussian(shellEnd({ exitCode: null, signal: 'SIGKILL' })), 'оболочку завершил сигнал SIGKILL')
    assert.equal(reasonInRussian('a reason of tomorrow'), 'a reason of tomorrow')
  })

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
