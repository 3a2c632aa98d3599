import { type Json } from '../base/json.ts'
import { type Action, type Effect, type Fact, type Notice, type Start } from './model.ts'

/** An engine's name and the types of its setting and result, without code: results can be read without loading the engine. */
export interface EngineKey<Setting extends object = object, Result extends object = object> {
  /** With the version, such as `agent/1`. Only the version that wrote a log reads it; all versions share a key's types. */
  readonly name: string
  /** No key has this field at run time. */
  readonly types?: { readonly setting: Setting, readonly result: Result }
}

export type Started<Setting extends object> = Omit<Start, 'setting'> & { readonly setting: Setting }

export type LaterFact = Exclude<Fact, { readonly kind: 'started' }>

/** The rules of one kind of session, without clock, input, output or randomness: same facts, same effects in every replica. */
export interface Engine<Setting extends object, State, Result extends object> extends EngineKey<Setting, Result> {
  /** The state and the effects of a session that begins. */
  begin (started: Started<Setting>, moment: Moment): Next<State>
  /** The state and the new effects that follow from one fact. */
  next (state: State, fact: LaterFact, moment: Moment): Next<State>
  view (state: State): EngineView<Result>
  /** `undefined` accepts the input. An engine without this method accepts every text and refuses every action. */
  refuses? (state: State, text: string, action: Action | undefined): Refused | undefined
}

export interface Refused {
  /** `busy`: waits for no such input now. `outdated`: approves what no longer waits. `disabled`: turned off by the operator. */
  readonly kind: 'busy' | 'invalid' | 'outdated' | 'disabled'
  readonly message: string
}

export interface Moment {
  readonly session: string
  readonly seq: number
  readonly at: number
  /** How many effects the log entry has asked for so far; the next effect's id follows from it. */
  readonly effects: number
  readonly notices: number
}

export interface Next<S> {
  readonly state: S
  readonly effects: readonly Effect[]
  readonly notices: readonly Notice[]
}

export interface EngineView<Result extends object = object> {
  /** Such as `classify`. */
  readonly stateName: string
  readonly outcome: 'open' | 'completed' | 'failed'
  /** The agent that the session runs now. Left out where agents cannot hand the session over. */
  readonly definition?: string
  /** Whether files may be changed, checks run and commits made. While this is not true, the gate denies such effects. */
  readonly mayWrite?: boolean
  readonly result?: Result
  /** Shown to approvers, who are perhaps not allowed to read the session. */
  readonly progress?: Progress
}

export interface Progress {
  /** One line, such as the name of the skill. */
  readonly title: string
  readonly step?: number
  readonly maxSteps?: number
  readonly lastOutput?: string
}

/** The id depends only on the place in the log, so that it is the same whenever the log is read. */
export function effectId ({ seq, effects }: Moment, n: number): string {
  return `${seq}.${effects + n}`
}

export interface RunningEngine {
  readonly name: string
  readonly view: EngineView
  /** For tests that compare two computations of a session. */
  readonly state: unknown
  refuses (text: string, action: Action | undefined): Refused | undefined
  take (fact: Fact, moment: Moment): { readonly engine: RunningEngine, readonly effects: readonly Effect[], readonly notices: readonly Notice[] }
}

export type EngineStart = () => RunningEngine

/** Hides the type of the state, so that engines of all kinds fit in one table. */
export function startOf<Setting extends object, State, Result extends object> (engine: Engine<Setting, State, Result>): EngineStart {
  return () => running(engine, undefined)
}

export function isOf (engine: string, { name }: EngineKey): boolean {
  return engine.split('/', 1)[0] === name.split('/', 1)[0]
}

/** @throws Error when the session has another engine, or no result */
export function resultOf<Setting extends object, Result extends object> (
  { engine }: { readonly engine: RunningEngine },
  key: EngineKey<Setting, Result>
): Result {
  const { name, view: { result } } = engine
  if (!isOf(name, key) || result === undefined) throw new Error(`a session of ${name} has no result of ${key.name}`)
  // The cast is safe: an engine of this name made the result.
  return result as Result
}

/** @throws Error when the session has another engine */
export function startedAs<Setting extends object, Result extends object> (start: Start, key: EngineKey<Setting, Result>): Started<Setting> {
  if (!isOf(start.engine, key)) throw new Error(`a session of ${start.engine} did not start as one of ${key.name}`)
  return withSetting(start)
}

export function startWith<Setting extends object, Result extends object> (
  key: EngineKey<Setting, Result>,
  setting: Setting
): Pick<Start, 'engine' | 'setting'> {
  // The cast is safe: a setting is plain data, and lacks only the index signature of `Json`.
  return { engine: key.name, setting: setting as unknown as Json }
}

/** The cast is safe: the start names the engine for which the setting was made. */
function withSetting<Setting extends object> (start: Start): Started<Setting> {
  return start as unknown as Started<Setting>
}

function running<Setting extends object, State, Result extends object> (engine: Engine<Setting, State, Result>, state: State | undefined): RunningEngine {
  return {
    name: engine.name,
    state,
    view: state === undefined ? { stateName: '', outcome: 'open' } : engine.view(state),
    refuses (text, action) {
      if (state !== undefined && engine.refuses !== undefined) return engine.refuses(state, text, action)
      return action === undefined ? undefined : { kind: 'invalid', message: `there is no action "${action.name}" here` }
    },
    take (fact, moment) {
      const { state: next, effects, notices } = nextOf(engine, state, fact, moment)
      return { engine: running(engine, next), effects, notices }
    }
  }
}

function nextOf<Setting extends object, State, Result extends object> (
  engine: Engine<Setting, State, Result>,
  state: State | undefined,
  fact: Fact,
  moment: Moment
): Next<State> {
  if (fact.kind === 'started') return engine.begin(withSetting(fact.start), moment)
  if (state === undefined) throw new Error('a session begins with "started"')
  return engine.next(state, fact, moment)
}
