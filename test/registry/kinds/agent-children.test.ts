import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Json } from '../../../src/base/json.ts'
import { RejectedEntry } from '../../../src/registry/diagnostic.ts'
import { agentKind, parseAgent } from '../../../src/registry/kinds/agent-kind.ts'
import { findToolProblems } from '../../../src/registry/unknown-names.ts'

/** What a publisher is told. */
function mistakes (agent: Json): string[] {
  try {
    parseAgent(agent)
    return []
  } catch (error) {
    if (!(error instanceof RejectedEntry)) throw error
    return error.diagnostics.map(({ message }) => message)
  }
}

const calling = (...tools: Json[]): Json => ({ tools })

describe('A function of an agent', () => {
  for (const [title, agent, message] of [
    ['that is two things', calling({ agent: 'a.b', skill: 'c' }), 'tools.0: expected exactly one of tool, agent, skill and plan, got agent and skill'],
    ['that is nothing', calling({ tool: 'a.b' }, { name: 'x' }), 'tools.1 ("x"): expected exactly one of tool, agent, skill and plan, got none'],
    ['that is a plan without a workspace', calling({ plan: 'careful' }), 'tools.0: a plan needs "workspace", one of the operator\'s'],
    ['that is an agent with a workspace', calling({ agent: 'a', workspace: 'shop' }), 'tools.0: "workspace" is no field of a function that is an agent'],
    ['that is a skill with parameters', calling({ skill: 'a', parameters: {} }), 'tools.0: "parameters" is no field of a function that is a skill'],
    ['that is a tool with a budget', calling({ tool: 'a', budget: {} }), 'tools.0: "budget" is no field of a function that is a tool'],
    ['whose parameters have no task, and nothing is made of them', calling({ agent: 'a', parameters: { city: {} } }), 'tools.0: without a parameter "task" it needs "input", the text that the agent is asked'],
    ['whose input is no template', calling({ agent: 'a', name: 'ask', input: '{{#if' }), 'tool ask: input: '],
    ['in mode: steps', { mode: 'steps', select: { prompt: 'x' }, tools: [{ agent: 'a' }] }, '"a" needs mode: tools; mode: steps calls tools alone'],
    ['of the same name as another', calling({ tool: 'a.b' }, { agent: 'a.b' }), 'two tools are called "a_b"'],
    ['of the name of a handoff', { handoffs: ['a.b'], tools: [{ tool: 'x', name: 'transfer_to_a_b' }] }, 'two tools are called "transfer_to_a_b"']
  ] as const) {
    it(`${title} is told of when it is published`, () => {
      const [first = ''] = mistakes(agent as Json)
      assert.ok(first.startsWith(message), first)
    })
  }

  it('that is an agent has one parameter, task, where nothing is said', () => {
    const [child] = parseAgent(calling({ agent: 'web:search' })).children ?? []
    assert.deepEqual([child?.name, child?.kind, child?.id, child?.input, Object.keys(child?.parameters ?? {}), child?.parameters['task']?.required, child?.budget], ['web_search', 'agents', 'web.search', '{{task}}', ['task'], true, undefined])
  })

  it('has the default of what a budget leaves out', () => {
    assert.deepEqual(parseAgent(calling({ agent: 'a', budget: { steps: 7 } })).children?.[0]?.budget, { steps: 7, tokens: 200_000 })
  })

  it('may be asked for by its name', () => {
    assert.deepEqual(mistakes({ ask: ['web'], tools: [{ agent: 'web' }] }), [])
    assert.deepEqual(mistakes({ ask: ['other'], tools: [{ agent: 'web' }] }), ['ask has "other", which is none of its tools'])
  })
})

describe('Handoffs', () => {
  it('need mode: tools', () => {
    assert.deepEqual(mistakes({ mode: 'steps', select: { prompt: 'x' }, handoffs: ['a'], tools: [] }), ['"handoffs" needs mode: tools'])
  })

  it('whose functions would have one name are told of', () => {
    assert.deepEqual(mistakes({ handoffs: ['a.b', 'a_b'], tools: [] }), ['two tools are called "transfer_to_a_b"'])
  })
})

describe('What an agent names', () => {
  const problems = (agent: Json): unknown[] => {
    const { toolUses = [] } = agentKind.define('me', agent, 'direct')
    return findToolProblems(toolUses, { tools: new Map(), definitions: new Map([['agents', new Map([['support.billing', {}]])]]) as never }).map(({ code, message, hint }) => [code, message, hint])
  }

  it('and nobody has registered is told of, with what may be meant', () => {
    assert.deepEqual(problems({ handoffs: ['support.biling'], tools: [{ skill: 'walk' }] }), [
      ['DEFINITION_UNKNOWN', '"walk" is no registered skill', 'register the skill, or correct the name'],
      ['DEFINITION_UNKNOWN', '"support.biling" is no registered agent', 'write support.billing, if that is what you mean; else register the agent, or correct the name']
    ])
  })

  it('is no mistake where it is there, built in, or the agent itself', () => {
    assert.deepEqual(problems({ handoffs: ['support.billing'], tools: [{ plan: 'default', workspace: 'shop' }, { agent: 'me' }] }), [])
  })
})
