import { listOf, objectOf, textIn, textOf } from '../base/json.ts'
import { inOneLine } from '../base/text.ts'
import { type Engine } from '../session/engine.ts'
import { describeTarget, sharesOf } from '../registry/kinds/release-record.ts'
import { type MoveEffect } from '../session/model.ts'
import { type Ended, endedOf, Turn } from './reducer.ts'
import { RELEASE, type ReleaseResult, type ReleaseSetting } from './release-key.ts'

interface ReleaseState {
  readonly setting: ReleaseSetting
  readonly author: string
  readonly word: 'testing' | 'waiting' | 'moved' | 'refused' | 'outdated'
  /** The effect that has begun, or waits for an approval. */
  readonly current: string
  readonly tests?: MoveEffect['tests']
  readonly approvedBy: readonly string[]
}

type ReleaseTurn = Turn<ReleaseState>

/** In ms. */
const [TESTS_TIMEOUT, MOVE_TIMEOUT] = [10 * 60_000, 30_000]

/** Failed tests that are named. */
const MAX_NAMED = 20

/** A change request of a label: its tests have to pass, others have to look, then the label moves, unless what they saw has changed since. */
export const releaseEngine: Engine<ReleaseSetting, ReleaseState, ReleaseResult> = {
  ...RELEASE,
  begin ({ setting, owner: author }, moment) {
    const turn: ReleaseTurn = new Turn({ setting, author, word: 'testing', current: '', approvedBy: [] }, moment)
    const { tests, change: { prompt, label, to } } = setting
    const versions = to === null ? [] : sharesOf(to).map(({ version }) => version)
    if (tests && versions.length > 0) turn.set({ current: turn.begin('tests', { prompt, label, versions, timeout: TESTS_TIMEOUT }) })
    else askForLook(turn)
    return turn
  },
  next (state, fact, moment) {
    const turn: ReleaseTurn = new Turn(state, moment)
    if (!('effect' in fact) || fact.effect !== state.current) return turn
    const ended = endedOf(fact)
    if (fact.kind === 'decided') turn.set({ approvedBy: [...state.approvedBy, fact.by] })
    else if (ended !== undefined && state.word === 'testing') onTested(turn, ended)
    else if (ended !== undefined) onLooked(turn, ended)
    return turn
  },
  view: ({ setting: { change, note, approvals }, word, approvedBy }) => ({
    stateName: word,
    outcome: word === 'moved' ? 'completed' : word === 'testing' || word === 'waiting' ? 'open' : 'failed',
    result: { change, note, approvals, approvedBy },
    progress: { title: `${change.label} of ${change.prompt}` }
  }),
  refuses: () => ({ kind: 'busy', message: 'a change request waits for no words: it is approved, rejected or cancelled' })
}

function onTested (turn: ReleaseTurn, ended: Ended): void {
  if ('failure' in ended) return end(turn, 'refused', ended.code, ended.failure)
  const { tag, passed, failed: given } = objectOf(ended.value)
  const [count, failed] = [Number(passed), listOf(given)]
  if (failed.length > 0) {
    const named = failed.slice(0, MAX_NAMED).map(each => `${inOneLine(textIn(each, 'name'))}: ${inOneLine(textIn(each, 'why'))}`)
    const rest = failed.length > MAX_NAMED ? [`${failed.length - MAX_NAMED} more`] : []
    return end(turn, 'refused', 'TESTS_FAILED', `${failed.length} of ${count + failed.length} tests failed: ${[...named, ...rest].join('; ')}`)
  }
  turn.emitText(`${count} tests passed`)
  turn.set({ tests: { tag: textOf(tag), passed: count } })
  askForLook(turn)
}

/** Begins one effect for each person who has to look. Before each, it is checked again that label, version and tests are still those that were shown. */
function askForLook (turn: ReleaseTurn): void {
  const { setting: { change, diff, note, approvals: of }, author, tests, approvedBy: by } = turn.state
  turn.set({
    word: 'waiting',
    current: turn.begin('move', {
      change,
      diff,
      ...(note === undefined ? {} : { note }),
      ...(tests === undefined ? {} : { tests }),
      looks: { author, by, of },
      timeout: MOVE_TIMEOUT
    })
  })
}

function onLooked (turn: ReleaseTurn, ended: Ended): void {
  const { setting: { approvals, change: { prompt, label, to } }, approvedBy } = turn.state
  if ('failure' in ended) return end(turn, ended.code === 'RELEASE_OUTDATED' ? 'outdated' : 'refused', ended.code, ended.failure)
  if (approvedBy.length < approvals) return askForLook(turn)
  turn.emitText(`${label} of ${prompt} ${to === null ? 'is removed' : `means ${describeTarget(to)}`} now`)
  turn.set({ word: 'moved' })
}

function end (turn: ReleaseTurn, word: 'refused' | 'outdated', code: string, reason: string): void {
  turn.set({ word })
  turn.emitError(code, reason)
}
