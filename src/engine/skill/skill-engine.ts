import { type Engine, type Progress } from '../../session/engine.ts'
import { refuseInput } from './refuse-input.ts'
import { SKILL, type SkillResult, type SkillStart, type SkillState } from './skill-state.ts'
import { SkillReducer } from './skill-reducer.ts'

/** The number of lines of the last command's output that clients are shown. */
const SHOWN_LINES = 7

/**
 * The engine of skills. A skill is a SKILL.md, carried out step by step: the model replies with commands, questions or messages, and
 * people decide about its commands.
 */
export const skillEngine: Engine<SkillStart, SkillState, SkillResult> = {
  ...SKILL,
  begin: ({ setting: { skill } }, moment) => new SkillReducer({
    setting: skill,
    word: 'idle',
    awaited: { kind: 'nothing' },
    protocol: skill.protocol,
    knowledge: '',
    system: '',
    messages: [],
    calls: [],
    step: 0,
    reply: undefined,
    pendingCommand: '',
    output: '',
    cwd: '',
    text: ''
  }, moment).start(),
  next (state, fact, moment) {
    const reducer = new SkillReducer(state, moment)
    switch (fact.kind) {
      case 'input': return reducer.hear(fact.text, fact.action)
      case 'result':
      case 'failure':
      case 'unknown':
      case 'refused': return reducer.end(fact)
      default: return reducer.next()
    }
  },
  view: state => ({
    stateName: state.word,
    outcome: state.word === 'done' ? 'completed' : state.word === 'failed' ? 'failed' : 'open',
    result: describe(state),
    progress: progressOf(state)
  }),
  refuses: refuseInput
}

function describe ({
  setting: { name, description, maxSteps, terminal, target },
  system,
  messages,
  step,
  reply,
  pendingCommand,
  output,
  text
}: SkillState): SkillResult {
  return { name, description, terminal, target, system, messages, step, maxSteps, pendingCommand, text, lastOutput: lastLines(output), reply: reply ?? null }
}

function progressOf ({ setting: { name, maxSteps }, step, output }: SkillState): Progress {
  return { title: name, step, maxSteps, lastOutput: lastLines(output) }
}

function lastLines (output: string): string {
  return output.split('\n').slice(-SHOWN_LINES).join('\n')
}
