import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type JsonObject } from '../../src/base/json.ts'
import { loopEngine } from '../../src/engine/loop-engine.ts'
import { parseAgent } from '../../src/registry/kinds/agent-kind.ts'
import { startOf } from '../../src/session/engine.ts'
import { eventsOf } from '../../src/session/follow.ts'
import { answerWith, callOf, Dialogue } from '../engine/dialogue.ts'

const OFFERED = [{ name: 'pay', tool: 'bank.pay', declaration: {} }]

/** A dialogue in which a call of a tool has begun, or waits. */
function calling (given = '{"sum":5}', ask: readonly string[] = []): Dialogue {
  const dialogue = new Dialogue(startOf(loopEngine), parseAgent({ mode: 'tools', tools: [{ tool: 'bank.pay', name: 'pay' }] }), OFFERED, undefined, ask)
  dialogue.say('Pay.')
  dialogue.end(answerWith({ tool_calls: [callOf('pay', given)] }))
  return dialogue
}

/** What the last transition told of tools. */
function told ({ log }: Dialogue): JsonObject[] {
  return (log.at(-1)?.notices ?? []).flatMap(({ type, data }) => type === 'tool' ? [data] : [])
}

const call = { effect: '3.0', name: 'pay', tool: 'bank.pay', arguments: { sum: 5 } }

describe('The call of a tool', () => {
  it('is told when it begins', () => {
    assert.deepEqual(told(calling()), [{ ...call, phase: 'called' }])
  })

  it('is told when it has ended, with how long it took', () => {
    const dialogue = calling()
    dialogue.end('done')
    assert.deepEqual(told(dialogue), [{ ...call, phase: 'ended', outcome: 'ok', durationMs: 1000 }])
  })

  it('is told to have failed, with the code', () => {
    const dialogue = calling()
    dialogue.fail('no money', 'TOOL_ERROR')
    assert.deepEqual(told(dialogue), [{ ...call, phase: 'ended', outcome: 'failed', code: 'TOOL_ERROR', message: 'no money', durationMs: 1000 }])
  })

  it('is told to be in doubt when it was interrupted', () => {
    const dialogue = calling()
    dialogue.take({ kind: 'unknown', effect: '3.0' })
    assert.deepEqual(told(dialogue), [{ ...call, phase: 'ended', outcome: 'unknown', message: 'It was interrupted. Nobody knows whether it was done', durationMs: 1000 }])
  })

  it('is told to be in doubt when its session is cancelled', () => {
    const dialogue = calling()
    dialogue.take({ kind: 'stopped', by: 'cancel', reason: 'enough' })
    assert.deepEqual(told(dialogue), [{ ...call, phase: 'ended', outcome: 'unknown', message: 'It was given up. Nobody knows whether it was done', durationMs: 1000 }])
  })

  it('is told to be refused, without a duration, when a person says no', () => {
    const dialogue = calling('{"sum":5}', ['bank.pay'])
    assert.deepEqual(told(dialogue), [])
    dialogue.take({ kind: 'decided', effect: '3.0', by: 'ann', decision: 'reject', reason: 'too much' })
    assert.deepEqual(told(dialogue), [{ ...call, phase: 'ended', outcome: 'refused', message: 'too much' }])
  })

  it('is told again when another replica makes it again', () => {
    const dialogue = calling()
    dialogue.take({ kind: 'took', repeats: ['3.0'] })
    assert.deepEqual(told(dialogue), [{ ...call, phase: 'called', isAgain: true }])
  })

  it('is told with the beginning of arguments that are long', () => {
    const [{ arguments: shown } = {}] = told(calling(JSON.stringify({ text: 'x'.repeat(20_000) })))
    assert.ok(typeof shown === 'string' && shown.length < 17_000 && shown.endsWith('…[truncated]'))
  })
})

describe('The events of a transition', () => {
  it('begin with what a user said, and each has the time', () => {
    const dialogue = calling()
    const [input, ...others] = eventsOf(dialogue.log[1] ?? assert.fail())
    assert.deepEqual(input, { type: 'input', data: { by: '', text: 'Pay.', at: '1970-01-01T00:00:02.000Z' } })
    assert.ok(others.every(({ data }) => data['at'] === '1970-01-01T00:00:02.000Z'))
  })
})
