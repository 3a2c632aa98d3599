import { type JsonObject } from '../../base/json.ts'
import { type Refused } from '../../session/engine.ts'
import { type Action } from '../../session/model.ts'
import { type Awaited, type SkillState } from './skill-state.ts'

/** The actions of users: when each is allowed, and the message that refuses it at another time. */
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

/** The reason why a skill refuses an input now, in the words of the protocol; `undefined` for an input that it takes. */
export function refuseInput ({ awaited, word }: SkillState, text: string, action: Action | undefined): Refused | undefined {
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
