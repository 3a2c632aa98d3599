import { type Json, type JsonObject } from '../../../src/base/json.ts'
import { skillEngine } from '../../../src/engine/skill/skill-engine.ts'
import { SKILL, type SkillResult, type SkillSetting, type SkillState } from '../../../src/engine/skill/skill-state.ts'
import { type AgentSetting } from '../../../src/registry/kinds/agent-setting.ts'
import { resultOf, startOf } from '../../../src/session/engine.ts'
import { type CommandPolicy, type ModelEffect, type Start } from '../../../src/session/model.ts'
import { answerWith, callOf, Dialogue } from '../dialogue.ts'

const SETTING: SkillSetting = { name: 'walk', description: 'Walks.', body: 'Walk on.', protocol: 'text', base: 'Base.', baseOfCalls: 'Base of calls.', language: 'en', prompt: '', parameters: [], model: '', maxSteps: 100, timeout: 30, terminal: 'manual', target: '', autoContinue: true, history: 'full', historyMax: 10, wholeCommands: true }

const POLICY: CommandPolicy = { rules: [{ effect: 'deny', command: 'rm *' }], isAuto: true }

/** An answer that calls functions: name and arguments of each, as an object or as the model wrote them. Ids count from c1. */
export function calling (...calls: ReadonlyArray<readonly [name: string, given: JsonObject | string]>): Json {
  return answerWith({ content: null, tool_calls: calls.map(([name, given], index) => callOf(name, typeof given === 'string' ? given : JSON.stringify(given), `c${index + 1}`)) })
}

/** A skill that is driven by facts, without a runner; its operator denies `rm`. */
export class SkillDialogue extends Dialogue {
  constructor (setting: Partial<SkillSetting> = {}, budget: Start['budget'] = { steps: 500, tokens: 1_000_000, idle: 60_000 }) {
    super(startOf(skillEngine), {} as AgentSetting, [], budget, [], { setting: { skill: { ...SETTING, ...setting } as unknown as JsonObject }, commands: POLICY })
  }

  get result (): SkillResult {
    return resultOf(this.session, SKILL)
  }

  get skill (): SkillState {
    return this.state<SkillState>()
  }

  /** Something else than words that a user sends. */
  act (name: string, data: JsonObject = {}): void {
    this.take({ kind: 'input', id: `a${this.log.length}`, by: '', text: '', action: { name, data } })
  }

  /** The request that waits for the model. */
  request (): ModelEffect {
    const effect = this.effect()
    if (effect.kind !== 'llm') throw new Error(`the skill asks for ${effect.kind}`)
    return effect
  }
}
