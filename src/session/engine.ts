import { type JsonObject } from '../base/json.ts'
import { type Effect, type Fact, type Notice } from './model.ts'

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
}

/** When a fact happened, as its transition says. */
export interface Moment {
  readonly seq: number
  /** Milliseconds since 1970. */
  readonly at: number
  /** How many effects the transition has asked for already. */
  readonly effects: number
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
  /** What it came to, for programs. */
  readonly result?: JsonObject
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
    take (fact, moment) {
      const { state: next, effects, notices } = engine.next(state, fact, moment)
      return { engine: running(engine, next), effects, notices }
    }
  }
}
