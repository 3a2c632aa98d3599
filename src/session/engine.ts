import { type Json } from '../base/json.ts'
import { type Action, type Effect, type Fact, type Notice, type Start } from './model.ts'

/**
 * An engine key names an engine (the rules of one kind of session). It carries the types of a session's setting (its parsed agent, skill or plan)
 * and of its result. A key holds no code, so that a program can read a session's result without loading the engine.
 */
export interface EngineKey<Setting extends object = object, Result extends object = object> {
  /**
   * The engine's name with its version, such as `agent/1`. A session's log is only read by the engine version that wrote it. Several versions of an
   * engine may stand in one table: settings and results of all of them have the types of one key.
   */
  readonly name: string
  /** Carries the types of a session's setting and result for the compiler. No key has this field at run time. */
  readonly types?: { readonly setting: Setting, readonly result: Result }
}

/** The start of a session (all data that it begins with), in which the setting (the parsed agent, skill or plan) has the type of the engine. */
export type Started<Setting extends object> = Omit<Start, 'setting'> & { readonly setting: Setting }

/** A fact (something that happened to a session) after the session's start. */
export type LaterFact = Exclude<Fact, { readonly kind: 'started' }>

/**
 * An engine: the rules of one kind of session, as pure functions. It has no clock (facts carry their time), no input or output, and no
 * randomness, so the same facts lead to the same effects in every replica and after every restart.
 */
export interface Engine<Setting extends object, State, Result extends object> extends EngineKey<Setting, Result> {
  /** Gives the first state of a session, and the first effects. @param moment the place and time of the first transition (log entry) */
  begin (started: Started<Setting>, moment: Moment): Next<State>
  /** Computes the next state and the new effects that follow from one fact. @param moment the place and time of the transition that holds the fact */
  next (state: State, fact: LaterFact, moment: Moment): Next<State>
  view (state: State): EngineView<Result>
  /**
   * The reason why the engine refuses an input of the user now; `undefined` when it accepts the input. An engine without this method
   * accepts every text and refuses every action.
   */
  refuses? (state: State, text: string, action: Action | undefined): Refused | undefined
}

/** The refusal of an input that a user sent to a session. A refused input is not written to the session's log. */
export interface Refused {
  /**
   * `busy`: the session does not wait for this kind of input now. `invalid`: it waits for this kind, but the input is wrong. `outdated`:
   * the input approves something that no longer waits for an approval. `disabled`: the operator has turned the action off.
   */
  readonly kind: 'busy' | 'invalid' | 'outdated' | 'disabled'
  readonly message: string
}

/** A moment in the life of a session: the transition (log entry) that is being computed, with its time. */
export interface Moment {
  /** The id of the session. */
  readonly session: string
  readonly seq: number
  /** The time of the transition, in ms since 1970. */
  readonly at: number
  /** The number of effects that the transition has asked for so far, from which the next effect's id follows. */
  readonly effects: number
  /** The number of notices (events for followers) that the transition has so far. */
  readonly notices: number
}

/**
 * The answer of an engine to a fact: the session's next state, the effects that the service has to perform (a model call, a command), and
 * the notices (events) for the session's followers.
 */
export interface Next<S> {
  readonly state: S
  /** The new effects. Each has an id from `effectId`. */
  readonly effects: readonly Effect[]
  readonly notices: readonly Notice[]
}

/** A summary of a session's state, made by its engine: the state's name, the outcome, the result and the progress. */
export interface EngineView<Result extends object = object> {
  /** The engine's own name for the session's state, such as `classify`. */
  readonly stateName: string
  readonly outcome: 'open' | 'completed' | 'failed'
  /** The id of the agent that the session runs now, when agents can hand the session over to each other. Left out where they cannot. */
  readonly definition?: string
  /** Whether the session is allowed to change files, run checks and commit now. While this is not true, the gate denies such effects. */
  readonly mayWrite?: boolean
  /** The result of the session, in the type that the engine's key names; absent until the session has a result. */
  readonly result?: Result
  /** The progress of the session, shown to a person who decides about an approval. */
  readonly progress?: Progress
}

/** The progress of a session, for people who approve its effects but are not allowed to read the session itself. */
export interface Progress {
  /** The title of the session, in one line, such as the name of the skill that it runs. */
  readonly title: string
  readonly step?: number
  readonly maxSteps?: number
  /** The output of the session's last command. */
  readonly lastOutput?: string
}

/**
 * The id of the n-th effect (counted from 0) that an engine asks for in one answer. The id depends only on the place in the session's log, so the
 * id is the same whenever the log is read.
 */
export function effectId ({ seq, effects }: Moment, n: number): string {
  return `${seq}.${effects + n}`
}

/** An engine together with its present state in one session, with the state's type hidden. */
export interface RunningEngine {
  readonly name: string
  readonly view: EngineView
  /** The engine's state, for tests that compare two computations of a session from its log. */
  readonly state: unknown
  refuses (text: string, action: Action | undefined): Refused | undefined
  take (fact: Fact, moment: Moment): { readonly engine: RunningEngine, readonly effects: readonly Effect[], readonly notices: readonly Notice[] }
}

/** Creates the engine of a new session, in its state before the first fact. */
export type EngineStart = () => RunningEngine

/** Makes a function that starts an engine. The function hides the type of the engine's state, so that engines of all kinds fit in one table. */
export function startOf<Setting extends object, State, Result extends object> (engine: Engine<Setting, State, Result>): EngineStart {
  return () => running(engine, undefined)
}

/** Whether an engine's name is that of a key, in any version. */
export function isOf (engine: string, { name }: EngineKey): boolean {
  return engine.split('/', 1)[0] === name.split('/', 1)[0]
}

/** Gives a session's result in the type that `key` names. @throws Error when the session has another engine, or no result */
export function resultOf<Setting extends object, Result extends object> (
  { engine }: { readonly engine: RunningEngine },
  key: EngineKey<Setting, Result>
): Result {
  const { name, view: { result } } = engine
  if (!isOf(name, key) || result === undefined) throw new Error(`a session of ${name} has no result of ${key.name}`)
  // The cast is safe: an engine of this name made the result, and the key of the name carries its type.
  return result as Result
}

/** Gives a session's start with its setting in the type that `key` names. @throws Error when the session has another engine */
export function startedAs<Setting extends object, Result extends object> (start: Start, key: EngineKey<Setting, Result>): Started<Setting> {
  if (!isOf(start.engine, key)) throw new Error(`a session of ${start.engine} did not start as one of ${key.name}`)
  return withSetting(start)
}

/** Makes the two fields of a session's start that depend on its engine: the engine's name, and the setting (the parsed agent, skill or plan). */
export function startWith<Setting extends object, Result extends object> (
  key: EngineKey<Setting, Result>,
  setting: Setting
): Pick<Start, 'engine' | 'setting'> {
  // The cast is safe: a setting is plain data. Its interface only lacks the index signature that the type of JSON asks for.
  return { engine: key.name, setting: setting as unknown as Json }
}

/** Casts a start so that its setting has the engine's type. That is safe: the start names the engine for which the setting was made. */
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
