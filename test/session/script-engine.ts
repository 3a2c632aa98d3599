import { type JsonObject } from '../../src/base/json.ts'
import { type Engine, effectId, type Moment, type Next, startOf } from '../../src/session/engine.ts'
import { type Engines } from '../../src/session/advance-session.ts'
import { type Action, type Effect, type Fact, type Notice, type Start } from '../../src/session/model.ts'

/** A session that does what its user writes. */
export interface ScriptState {
  /** The steps that are left; each asks for all of its effects at once. */
  readonly steps: readonly string[]
  /** What the step waits for. */
  readonly pending: readonly string[]
  /** Each end of an effect, in order, as `2.0 result`. */
  readonly heard: readonly string[]
  readonly outcome: 'open' | 'completed' | 'failed'
  readonly mayWrite?: boolean
}

/**
 * The engine of the tests. A script is a list of steps with `>` between; a step is a list of words: `?word` asks the model,
 * `end` and `fail` end the session, `$command` runs a command, `@script` starts a child with that script (`+` for spaces, `,` for `>`; `@30/500:script` with a budget), `write` and `delete` change files, every other word calls the tool
 * of that name, `tool:value` with an argument. After the last step the session waits for the next script. Its input may be the
 * action `script` with one. A session may write while the step before was `apply`.
 */
export const scriptEngine: Engine<object, ScriptState, object> = {
  name: 'script/1',
  begin: ({ input }, moment) => step({ steps: stepsOf(input['script'] as string), pending: [], heard: [], outcome: 'open' }, moment),
  next (state, fact, moment) {
    switch (fact.kind) {
      case 'input': return step({ ...state, steps: stepsOf(fact.action === undefined ? fact.text : textOf(fact.action)) }, moment, [{ type: 'stdout', data: { text: fact.text } }])
      case 'result':
      case 'failure':
      case 'refused':
      case 'unknown': return hear(state, fact, moment)
      default: return { state, effects: [], notices: [] }
    }
  },
  view: ({ outcome, steps, mayWrite = false }) => ({ stateName: `${steps.length} steps left`, outcome, mayWrite }),
  refuses (_state, _text, action) {
    if (action === undefined) return undefined
    if (action.name !== 'script') return { kind: 'busy', message: `it waits for no ${action.name}` }
    return textOf(action) === '' ? { kind: 'invalid', message: 'data.text: expected a script, got nothing' } : undefined
  }
}

function textOf ({ data: { text = '' } }: Action): string {
  return text as string
}

export const SCRIPTED: Engines = new Map([[scriptEngine.name, startOf(scriptEngine)]])

/** What a scripted session starts with. */
export function scripted (script: string, wishes: Partial<Start> = {}): Start {
  return { engine: scriptEngine.name, definition: 'agents/script', revision: '1', setting: null, input: { script }, owner: 'ann', budget: { steps: 1000, tokens: 1000, idle: 60_000 }, ask: [], ...wishes }
}

function stepsOf (script: string): string[] {
  return script.split('>').map(text => text.trim()).filter(text => text !== '')
}

function hear (state: ScriptState, fact: Extract<Fact, { readonly effect: string }>, moment: Moment): Next<ScriptState> {
  const pending = state.pending.filter(id => id !== fact.effect)
  const notices: Notice[] = [{ type: 'tool', data: { effect: fact.effect, end: fact.kind } }]
  const heard = { ...state, pending, heard: [...state.heard, `${fact.effect} ${fact.kind}`] }
  return pending.length === 0 ? step(heard, moment, notices) : { state: heard, effects: [], notices }
}

function step (state: ScriptState, moment: Moment, notices: readonly Notice[] = []): Next<ScriptState> {
  const [words, ...steps] = state.steps
  if (words === undefined) return { state, effects: [{ id: effectId(moment, 0), kind: 'wait' }], notices }
  if (words === 'end' || words === 'fail') return { state: { ...state, steps, outcome: words === 'end' ? 'completed' : 'failed' }, effects: [], notices }
  if (words === 'apply') return step({ ...state, steps, mayWrite: true }, moment, notices)
  const effects = words.split(/\s+/).map((word, n) => effectOf(word, effectId(moment, n)))
  return { state: { ...state, steps, pending: effects.map(({ id }) => id) }, effects, notices }
}

function childOf (word: string, id: string): Effect {
  const [, steps, tokens, script = word] = /^(\d+)\/(\d+):(.*)$/.exec(word) ?? []
  const budget = steps === undefined || tokens === undefined ? {} : { budget: { steps: Number(steps), tokens: Number(tokens) } }
  return { id, kind: 'child', name: 'child', definition: 'agents/script', input: { text: script.replaceAll('+', ' ').replaceAll(',', ' > ') }, ...budget }
}

function effectOf (word: string, id: string): Effect {
  if (word.startsWith('?')) return { id, kind: 'llm', purpose: word.slice(1), messages: [], fields: {}, timeout: 1000 }
  if (word.startsWith('$')) return { id, kind: 'exec', target: 'here', command: word.slice(1), origin: 'model', timeout: 1000 }
  if (word.startsWith('@')) return childOf(word.slice(1), id)
  if (word === 'write' || word === 'delete') return { id, kind: 'apply', workspace: 'shop', change: { do: word }, deletes: word === 'delete', timeout: 1000 }
  const [tool = '', value] = word.split(':')
  const given: JsonObject = value === undefined ? {} : { value }
  return { id, kind: 'tool', tool, arguments: given, timeout: 1000 }
}
