import { type Engine, type Progress, type Refused } from '../../session/engine.ts'
import { type Awaited, SKILL, type SkillResult, type SkillStart, type SkillState } from './skill-state.ts'
import { SkillReducer } from './skill-reducer.ts'
import { type JsonObject } from '../../base/json.ts'
import { type Action } from '../../session/model.ts'

/** The number of lines of the last command's output that clients are shown. */
const SHOWN_LINES = 7

/**
 * The engine of skills. A skill is a file SKILL.md with instructions, carried out step by step: the model replies with commands, questions or messages, and
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

/** The actions that a user can send to a skill: for each, when it is allowed, and the message that refuses it at another time. */
const ACTIONS: ReadonlyMap<string, { readonly fits: (awaited: Awaited) => boolean, readonly otherwise: (word: string) => string }> = new Map([
  ['command_result', { fits: ({ kind }) => kind === 'command' || kind === 'verdict', otherwise: () => 'Skill is not waiting for command result' }],
  [
    'skip',
    {
      fits: awaited => awaited.kind === 'command' || awaited.kind === 'verdict' || (awaited.kind === 'answer' && !awaited.required),
      otherwise: () => 'Skill is not waiting for command result'
    }
  ],
  ['again', { fits: ({ kind }) => kind === 'verdict', otherwise: () => 'Skill is not waiting for a decision about a command' }],
  ['without', { fits: awaited => awaited.kind === 'verdict' && awaited.why === 'isBusy', otherwise: () => 'Skill is not waiting for a terminal' }],
  ['continue', { fits: ({ kind }) => kind === 'continue', otherwise: word => `Skill is in state '${word}', not 'idle'` }]
])

/** The reason why a skill refuses a user's input now, in the words that existing clients know; `undefined` when it takes the input. */
function refuseInput ({ awaited, word }: SkillState, text: string, action: Action | undefined): Refused | undefined {
  if (action === undefined) return refuseWords(awaited, text)
  const known = ACTIONS.get(action.name)
  if (known === undefined) return { kind: 'invalid', message: `action.name: expected ${[...ACTIONS.keys()].join(', ')}, got "${action.name}"` }
  if (!known.fits(awaited)) return { kind: 'busy', message: known.otherwise(word) }
  return action.name === 'command_result' ? refuseResult(action.data) : undefined
}

function refuseWords (awaited: Awaited, text: string): Refused | undefined {
  if (awaited.kind !== 'answer' && awaited.kind !== 'verdict') return { kind: 'busy', message: 'Skill is not waiting for user input' }
  if (text.trim() !== '' || (awaited.kind === 'answer' && !awaited.required)) return undefined
  return { kind: 'invalid', message: 'text: expected an answer, got nothing: the question is required' }
}

function refuseResult ({ stdout = '', stderr = '', exitCode = 0 }: JsonObject): Refused | undefined {
  if (typeof stdout === 'string' && typeof stderr === 'string' && Number.isInteger(Number(exitCode))) return undefined
  return { kind: 'invalid', message: 'action.data: expected stdout and stderr as texts, and exitCode as a whole number' }
}
