import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type JsonObject } from '../../../src/base/json.ts'
import { type RejectedEntry } from '../../../src/registry/diagnostic.ts'
import { agentKind } from '../../../src/registry/kinds/agent-kind.ts'

const step = { prompt: 'x' }
const cases: ReadonlyArray<readonly [title: string, agent: JsonObject, useless: readonly string[]]> = [
  ['classify and select of an agent that calls tools', { mode: 'tools', classify: step, select: step }, ['classify', 'select']],
  ['the same where no mode is said', { classify: step }, ['classify']],
  ['system, and what is of the other mode, of an agent of steps', { mode: 'steps', system: 'x', maxTurns: 3, stream: true, returns: { type: 'object' }, history: { compact: false } }, ['system', 'maxTurns', 'stream', 'returns', 'history.compact']],
  ['turns beside messages', { history: { turns: 3, messages: 5 } }, ['history.turns']],
  ['nothing of an agent that says what it needs', { system: 'x', history: { turns: 3 } }, []]
]

describe('A definition of an agent is refused with', () => {
  for (const [agent, name, near] of [[{ maxTurn: 3 }, 'maxTurn', 'maxTurns'], [{ history: { turn: 3 } }, 'turn', 'turns'], [{ found: 1 }, 'found', undefined]] as const) {
    it(`a field that there is not: ${name}`, () => {
      assert.throws(() => agentKind.define('a', { tools: [], ...agent }, 'direct'), (error: unknown) => {
        const told = (error as RejectedEntry).diagnostics.map(({ code, message }) => `${code} ${message}`).join()
        return told.includes(`must not have "${name}"`) && (near === undefined || told.includes(`did you mean "${near}"?`))
      })
    })
  }
})

describe('A definition of an agent is published with a warning of', () => {
  for (const [title, agent, useless] of cases) {
    it(title, () => {
      const { diagnostics } = agentKind.define('a', { tools: [], ...agent }, 'direct')
      assert.deepEqual(diagnostics.map(({ severity, code, field }) => [severity, code, field?.join('.')]), useless.map(field => ['warning', 'FIELD_UNUSED', field]))
    })
  }
})
