import { type Json } from '../base/json.ts'
import { type Action, type Effect, type Fact, type Notice, type Start } from './model.ts'

/**
 * An engine key names an engine, and has the types of its sessions' setting and result. A key holds no code: reading a
 * session by a key loads no engine.
 */
export interface EngineKey<Setting extends object = object, Result extends object = object> {
  /** The name with the version, such as `agent/1`. A log is only read by the version that wrote it. */
  readonly name: string
  /** Always absent at run time: the field only carries the types. */
  readonly types?: { readonly setting: Setting, readonly result: Result }
}

/** A session's start, with the setting typed for its engine. */
export type Started<Setting extends object> = Omit<Start, 'setting'> & { readonly setting: Setting }

/** A fact that follows the start of a session. */
export type LaterFact = Exclude<Fact, { readonly kind: 'started' }>

/**
 * The rules of one kind of session, as pure functions: no clock (facts carry their time), no input or output, no
 * randomness. The same facts give the same effects in every replica and after every restart.
 */
export interface Engine<Setting extends object, State, Result extends object> extends EngineKey<Setting, Result> {
  /** Gives the first state. @param moment of the first transition */
  begin (started: Started<Setting>, moment: Moment): Next<State>
  /** Takes one fact. @param moment of the transition that holds the fact */
  next (state: State, fact: LaterFact, moment: Moment): Next<State>
  view (state: State): EngineView<Result>
  /** The reason why the engine refuses an input now, if it does. Without the method, every text is accepted and every action refused. */
  refuses? (state: State, text: string, action: Action | undefined): Refused | undefined
}

/** The refusal of an input. Nothing of a refused input is written. */
export interface Refused {
  /**
   * `busy`: the session does not wait for such an input. `invalid`: it does, and this input is wrong. `outdated`: the input agrees to
   * something that no longer waits. `disabled`: the operator has turned the action off.
   */
  readonly kind: 'busy' | 'invalid' | 'outdated' | 'disabled'
  readonly message: string
}

/** When a fact happened, as its transition says. */
export interface Moment {
  /** The id of the session. */
  readonly session: string
  readonly seq: number
  /** Milliseconds since 1970. */
  readonly at: number
  /** How many effects the transition has asked for already. */
  readonly effects: number
  /** How many notices the transition has already. */
  readonly notices: number
}

/** What an engine makes of a fact. */
export interface Next<S> {
  readonly state: S
  /** The new effects. Their ids come from `effectId`. */
  readonly effects: readonly Effect[]
  readonly notices: readonly Notice[]
}

/** How far a session is, in the words of its engine. */
export interface EngineView<Result extends object = object> {
  /** The engine's own name of its state: `classify`. */
  readonly stateName: string
  readonly outcome: 'open' | 'completed' | 'failed'
  /** The definition that the session acts as now, such as `agents/helper`; left out while it is the one that it started with. */
  readonly definition?: string
  /** Whether the session may change files and run checks now. The gate enforces this. */
  readonly mayWrite?: boolean
  /** The result of the session, for programs. */
  readonly result?: Result
  /** The progress, for a person who decides about an approval. */
  readonly progress?: Progress
}

/** How far a session is, for people who may not read it. */
export interface Progress {
  /** The subject of the session, in one line. */
  readonly title: string
  readonly step?: number
  readonly maxSteps?: number
  /** The output of the session's last command. */
  readonly lastOutput?: string
}

/** The id of the n-th effect, from 0, that an engine asks for at a moment. */
export function effectId ({ seq, effects }: Moment, n: number): string {
  return `${seq}.${effects + n}`
}

/** An engine together with its state in one session. */
export interface RunningEngine {
  readonly name: string
  readonly view: EngineView
  /** What the state holds, for tests that compare two folds. */
  readonly state: unknown
  refuses (text: string, action: Action | undefined): Refused | undefined
  take (fact: Fact, moment: Moment): { readonly engine: RunningEngine, readonly effects: readonly Effect[], readonly notices: readonly Notice[] }
}

/** Creates a running engine for a new session, before the first fact. */
export type EngineStart = () => RunningEngine

/** Hides the types of an engine's state, so that engines of all kinds can be kept in one table. */
export function startOf<Setting extends object, State, Result extends object> (engine: Engine<Setting, State, Result>): EngineStart {
  return () => running(engine, undefined)
}

/** The result of a session, typed for its engine. @throws Error for a session of another engine, and for one without a result */
export function resultOf<Setting extends object, Result extends object> (
  { engine }: { readonly engine: RunningEngine },
  key: EngineKey<Setting, Result>
): Result {
  const { name, view: { result } } = engine
  if (name !== key.name || result === undefined) throw new Error(`a session of ${name} has no result of ${key.name}`)
  // The engine of that name made the result, and its key says in which form.
  return result as Result
}

/** The start of a session, typed for its engine. @throws Error for a session of another engine */
export function startedAs<Setting extends object, Result extends object> (start: Start, key: EngineKey<Setting, Result>): Started<Setting> {
  if (start.engine !== key.name) throw new Error(`a session of ${start.engine} did not start as one of ${key.name}`)
  return withSetting(start)
}

/** The part of a start that says which engine runs the session, and with what. */
export function startWith<Setting extends object, Result extends object> (
  key: EngineKey<Setting, Result>,
  setting: Setting
): Pick<Start, 'engine' | 'setting'> {
  // A setting is plain data; its interface has no index, which is all that JSON's type asks for beside that.
  return { engine: key.name, setting: setting as unknown as Json }
}

/** The engine whose name the start has wrote the setting, or reads a log of its own version. */
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
