import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type JsonObject } from '../../../src/base/json.ts'
import { agentKind } from '../../../src/registry/kinds/agent/agent-kind.ts'

const step = { prompt: 'x' }
const cases: ReadonlyArray<readonly [title: string, agent: JsonObject, useless: readonly string[]]> = [
  ['classify and select of an agent that calls tools', { mode: 'tools', classify: step, select: step }, ['classify', 'select']],
  ['the same where no mode is said', { classify: step }, ['classify']],
  ['system, and what is of the other mode, of an agent of steps', { mode: 'steps', system: 'x', maxTurns: 3, stream: true, returns: { type: 'object' }, history: { compact: false } }, ['system', 'maxTurns', 'stream', 'returns', 'history.compact']],
  ['turns beside messages', { history: { turns: 3, messages: 5 } }, ['history.turns']],
  ['nothing of an agent that says what it needs', { system: 'x', history: { turns: 3 } }, []]
]

describe('A definition of an agent is published with a warning of', () => {
  for (const [title, agent, useless] of cases) {
    it(title, () => {
      const { diagnostics } = agentKind.define('a', { tools: [], ...agent }, 'direct')
      assert.deepEqual(diagnostics.map(({ severity, code, field }) => [severity, code, field?.join('.')]), useless.map(field => ['warning', 'FIELD_UNUSED', field]))
    })
  }
})
