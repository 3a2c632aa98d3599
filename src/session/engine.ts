import { type JsonObject } from '../base/json.ts'
import { type Action, type Effect, type Fact, type Notice, type Start } from './model.ts'

/**
 * The rules of one kind of session, as a pure function: no clock (facts carry their time), no input or output, no
 * randomness. The same facts give the same effects in every replica and after every restart.
 */
export interface Engine<S> {
  /** With its version, `agent/1`: a log is only ever read by the version that wrote it. */
  readonly name: string
  /**
   * Takes one fact.
   * @param state `undefined` before the fact `started`
   * @param moment of the transition that holds the fact
   */
  next (state: S | undefined, fact: Fact, moment: Moment): Next<S>
  view (state: S): EngineView
  /** Why an input is of no use now, or wrong; without the method all words are taken, and no action. */
  refuses? (state: S, text: string, action: Action | undefined): Refused | undefined
}

/** An input that is not taken: nothing of it is written. */
export interface Refused {
  /** `busy`: the session does not wait for such a thing. `invalid`: it does, and this one is wrong. */
  readonly kind: 'busy' | 'invalid'
  readonly message: string
}

/** When a fact happened, as its transition says. */
export interface Moment {
  /** Of the session. */
  readonly session: string
  readonly seq: number
  /** Milliseconds since 1970. */
  readonly at: number
  /** How many effects the transition has asked for already. */
  readonly effects: number
  /** How many notices it has already. */
  readonly notices: number
}

/** What an engine makes of a fact. */
export interface Next<S> {
  readonly state: S
  /** With ids that `effectId` makes. */
  readonly effects: readonly Effect[]
  readonly notices: readonly Notice[]
}

/** How far a session is, in the words of its engine. */
export interface EngineView {
  /** The engine's own word for it: `classify`. */
  readonly word: string
  readonly outcome: 'open' | 'completed' | 'failed'
  /** Whether it may change files and run checks now. The gate holds it to that. */
  readonly mayWrite?: boolean
  /** What it came to, for programs. */
  readonly result?: JsonObject
  /** What a person who decides about it has to know of the rest. */
  readonly progress?: Progress
}

/** How far a session is, for people who may not read it. */
export interface Progress {
  /** What it is about, in one line. */
  readonly title: string
  readonly step?: number
  readonly maxSteps?: number
  /** What its last command printed. */
  readonly lastOutput?: string
}

/** The id of the n-th effect, from 0, that an engine asks for at a moment. */
export function effectId ({ seq, effects }: Moment, n: number): string {
  return `${seq}.${effects + n}`
}

/** An engine in the middle of a session. What state it keeps is its own affair. */
export interface RunningEngine {
  readonly name: string
  readonly view: EngineView
  /** What the state holds, for tests that compare two folds. */
  readonly state: unknown
  refuses (text: string, action: Action | undefined): Refused | undefined
  take (fact: Fact, moment: Moment): { readonly engine: RunningEngine, readonly effects: readonly Effect[], readonly notices: readonly Notice[] }
}

/** Begins an engine: nothing has happened yet. */
export type EngineStart = () => RunningEngine

/** Makes engines of different states alike. */
export function startOf<S> (engine: Engine<S>): EngineStart {
  return () => running(engine, undefined)
}

function running<S> (engine: Engine<S>, state: S | undefined): RunningEngine {
  return {
    name: engine.name,
    state,
    view: state === undefined ? { word: '', outcome: 'open' } : engine.view(state),
    refuses (text, action) {
      if (state !== undefined && engine.refuses !== undefined) return engine.refuses(state, text, action)
      return action === undefined ? undefined : { kind: 'invalid', message: `there is no action "${action.name}" here` }
    },
    take (fact, moment) {
      const { state: next, effects, notices } = engine.next(state, fact, moment)
      return { engine: running(engine, next), effects, notices }
    }
  }
}

/** An engine by which a session is started and read: its name and the types of what it takes and gives, without its code. */
export interface EngineKey<Setting extends object = object, Result extends object = object> {
  /** See `Engine`. */
  readonly name: string
  /** For the compiler: it is never there. */
  readonly types?: { readonly setting: Setting, readonly result: Result }
}

/** What a session that an engine runs starts with. */
export function startWith<Setting extends object> ({ name }: EngineKey<Setting>, setting: Setting): Pick<Start, 'engine' | 'setting'> {
  // A setting is plain data, which its type cannot say of interfaces.
  return { engine: name, setting: setting as JsonObject }
}

/** What a session of an engine started with. @throws Error for a session of another engine */
export function startedAs<Setting extends object, Result extends object> (start: Start, { name }: EngineKey<Setting, Result>): Start & { readonly setting: Setting } {
  if (start.engine !== name) throw new Error(`expected a session of ${name}, got one of ${start.engine}`)
  // The engine of this name has written the setting: `startWith` has taken nothing else.
  return start as Start & { readonly setting: Setting }
}

/** What a session of an engine has come to. @throws Error for a session of another engine */
export function resultOf<Setting extends object, Result extends object> ({ engine }: { readonly engine: RunningEngine }, { name }: EngineKey<Setting, Result>): Result {
  if (engine.name !== name) throw new Error(`expected a session of ${name}, got one of ${engine.name}`)
  // The view of the engine of this name has made the result.
  return (engine.view.result ?? {}) as Result
}
