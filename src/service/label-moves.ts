import pLimit from 'p-limit'
import { stringify } from 'yaml'
import { type Caller } from '../access/caller.ts'
import { RELEASES } from '../access/rights.ts'
import { visibleGeneration } from '../access/views.ts'
import { roleMissing, ServiceError } from '../base/errors.ts'
import { type Json } from '../base/json.ts'
import { RELEASE } from '../engine/release-key.ts'
import { type Generation } from '../registry/generation.ts'
import { describeTarget, type LabelTarget, sharesOf } from '../registry/kinds/release-record.ts'
import { type Registry } from '../registry/registry.ts'
import { timeLimit } from '../runtime/deadline.ts'
import { type Outcome } from '../session/effects.ts'
import { resultOf, startedAs, startWith } from '../session/engine.ts'
import { type LabelChange, type MoveEffect, type Status, type TestsEffect } from '../session/model.ts'
import { openIn, type Session } from '../session/session.ts'
import { toPath } from '../store/store.ts'
import { type CaseResult, type PromptTests, requireChat, type RunCase } from './prompt-tests.ts'
import { type Precondition } from './record-store.ts'
import { LabelOutdated, type ReleaseChange, type ReleaseHistory, type Releases, type WantedTarget } from './releases.ts'
import { type Perform } from './sessions/performer.ts'
import { type SessionService } from './sessions/session-service.ts'

/** In ms: a week without an answer. */
const IDLE = 7 * 24 * 60 * 60_000

/** Of a diff, in UTF-16 units. */
const MAX_DIFF = 16_000

const AT_A_TIME = 8

/** Open requests that a move ends, and that a list shows. */
const MAX_LISTED = 50

interface LabelMovesOptions {
  readonly releases: Releases
  readonly registry: Pick<Registry, 'generation'>
  readonly promptTests: PromptTests
  readonly runCase: RunCase
  /** Looked up late: sessions are made with the effects below. */
  readonly sessions: () => SessionService
}

/**
 * Moves labels of prompts: at once, or, where the operator's file wants others to look, by a change request. That is a session, which runs the
 * tests, waits for the others, and moves the label only if it, its version and the tests are still those that they were shown.
 */
export class LabelMoves {
  readonly #options: LabelMovesOptions

  constructor (options: LabelMovesOptions) {
    this.#options = options
  }

  /**
   * @param override why nobody is asked to look; for admins
   * @returns the session that was begun, if others have to look
   * @throws ROLE_MISSING, TOO_MANY_SESSIONS, SESSIONS_UNAVAILABLE, and what `Releases.moveLabel` does
   */
  async move (
    change: ReleaseChange, label: string, wanted: WantedTarget, precondition: Precondition, override?: string
  ): Promise<ReleaseHistory | Session> {
    const { releases, sessions } = this.#options
    const { caller, note } = change
    const rule = releases.rules.looks.get(label)
    if (override !== undefined && !caller.roles.has('admin')) throw roleMissing(caller.name, 'admin', [...caller.roles])
    if (rule === undefined || override !== undefined) {
      const history = await releases.moveLabel(change, label, wanted, precondition, override === undefined ? {} : { override })
      if (rule !== undefined) await this.#endOutdated(toPath(change.id), label)
      return history
    }
    const planned = await releases.planMove(change, label, wanted, precondition)
    if (JSON.stringify(planned.from) === JSON.stringify(planned.to)) return await releases.history(change)
    const diff = await this.#diffOf(planned)
    return await sessions().create(caller, () => ({
      ...startWith(RELEASE, { ...rule, change: planned, diff, note }),
      definition: `${RELEASES}/${planned.prompt}`,
      revision: Object.values(planned.hashes).join(' '),
      input: { goal: `${label} of ${planned.prompt}: ${describeTarget(planned.from)} → ${describeTarget(planned.to)}` },
      budget: { steps: 100, tokens: 1, idle: IDLE },
      ask: []
    }))
  }

  /** The change requests of a prompt's labels, the newest first. @throws PROMPT_NOT_FOUND, SESSIONS_UNAVAILABLE */
  async requests (generation: Generation, caller: Caller, id: string): Promise<readonly Session[]> {
    await this.#options.releases.history({ generation, caller, id })
    return await this.#sessionsOf(toPath(id))
  }

  readonly runTests: Perform<TestsEffect> = async ({ session, effect: { prompt, label, versions, timeout }, caller, signal, activity }) => {
    const { registry, promptTests, releases, runCase } = this.#options
    const generation = visibleGeneration(registry.generation, caller)
    const limit = pLimit(AT_A_TIME)
    return await asOutcome(async () => {
      const { cases, tag } = await promptTests.read(caller, prompt)
      if (cases.length === 0) return { kind: 'failure', code: 'TESTS_FAILED', message: `${prompt} has no test, and ${label} wants them to pass` }
      const ended = timeLimit(signal, timeout)
      const asked = { generation, caller, id: prompt, requestId: session.id, activity, signal: ended }
      const runs = versions.flatMap(version => cases.map((testCase, index) => limit(async () => {
        const name = `${testCase.description || `case ${index + 1}`}${versions.length > 1 ? ` (version ${version})` : ''}`
        try {
          requireChat(testCase, caller)
          const chosen = await releases.versionUnder(generation, prompt, version, label)
          return { name, why: whyFailed(await runCase({ ...asked, chosen, testCase })) }
        } catch (error) {
          if (error instanceof ServiceError) return { name, why: error.message }
          throw error
        }
      })))
      const reports = await Promise.all(runs)
      if (ended.aborted) return { kind: 'failure', code: 'TIMEOUT', message: `the tests have not ended within ${timeout} ms` }
      await releases.expect(startedAs(session.start, RELEASE).setting.change)
      const failed = reports.flatMap(({ name, why }) => why === undefined ? [] : [{ name, why: why.slice(0, MAX_WHY) }])
      return { kind: 'result', result: { tag, passed: runs.length - failed.length, failed } }
    })
  }

  readonly moveLabel: Perform<MoveEffect> = async ({ session, effect: { change, note, tests, looks }, caller }) => {
    const { registry, promptTests, releases } = this.#options
    const { prompt, label, to } = change
    return await asOutcome(async () => {
      if (tests !== undefined && (await promptTests.read(caller, prompt)).tag !== tests.tag) {
        throw new LabelOutdated(`the tests of ${prompt} are others than those that were run`)
      }
      const { approvedBy } = resultOf(session, RELEASE)
      if (approvedBy.length < looks.of) {
        await releases.expect(change)
        return { kind: 'result', result: {} }
      }
      const generation = visibleGeneration(registry.generation, caller)
      const asked = { generation, caller, id: prompt, requestId: session.id, note }
      await releases.moveLabel(asked, label, to, {}, { expected: change, request: session.id, approvedBy })
      await this.#endOutdated(prompt, label, session.id)
      return { kind: 'result', result: {} }
    })
  }

  /** What others wait for with a label that has moved is over: nobody should look at it in vain. Missed ones end when somebody has looked. */
  async #endOutdated (prompt: string, label: string, but?: string): Promise<void> {
    const reason = `${label} was moved since`
    const open = (await this.#sessionsOf(prompt, ['waiting_approval']).catch(() => []))
      .filter(({ id, start }) => id !== but && startedAs(start, RELEASE).setting.change.label === label)
    await Promise.all(open.map(({ id }) => this.#options.sessions().use(async ({ runner }) => await runner.submit(id, session => {
      const [held] = openIn(session, 'held')
      return held === undefined ? undefined : { kind: 'failure', effect: held.effect.id, code: 'RELEASE_OUTDATED', message: reason }
    })).catch(() => {})))
  }

  async #sessionsOf (prompt: string, statuses?: readonly Status[]): Promise<readonly Session[]> {
    return await this.#options.sessions().use(async ({ store, runner }) => {
      const { heads } = await store.list({ definition: `${RELEASES}/${prompt}`, statuses, limit: MAX_LISTED })
      const found = await Promise.all(heads.map(async ({ id }) => await runner.load(id)))
      return found.filter(session => session !== undefined)
    })
  }

  /** Of what most callers with the label get now and each version that they do not get yet. */
  async #diffOf ({ prompt, from, to }: LabelChange): Promise<string> {
    const before = from === null ? undefined : heaviest(from)
    const known = new Set(from === null ? [] : sharesOf(from).map(({ version }) => version))
    const added = to === null ? [] : sharesOf(to).map(({ version }) => version).filter(version => !known.has(version))
    const { differenceOf } = await import('../files/change/diff.ts')
    const text = async (n: number) => textOf(await this.#options.releases.contentOf(prompt, n))
    // A version that is gone from the store shows all of the other as new.
    const old = before === undefined ? null : await text(before).catch(() => null)
    const diffs = await Promise.all(added.map(async n => differenceOf(`${prompt}@${n}`, old, await text(n), MAX_DIFF).diff))
    return diffs.join('')
  }
}

/** In UTF-16 units. */
const MAX_WHY = 500

function whyFailed ({ pass, error, checks }: CaseResult): string | undefined {
  if (pass) return undefined
  const failed = checks.filter(check => !check.pass).map(({ type, reason }) => `${type}: ${reason || 'it does not hold'}`)
  return [...error === undefined ? [] : [error.message], ...failed].join('; ')
}

function textOf (content: Json): Buffer {
  return Buffer.from(typeof content === 'string' ? `${content}\n` : stringify(content, { lineWidth: 0 }))
}

function heaviest (target: LabelTarget): number | undefined {
  return sharesOf(target).toSorted((a, b) => b.weight - a.weight)[0]?.version
}

async function asOutcome (work: () => Promise<Outcome>): Promise<Outcome> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof LabelOutdated) return { kind: 'failure', code: 'RELEASE_OUTDATED', message: error.message }
    if (error instanceof ServiceError) return { kind: 'failure', code: error.code, message: error.message }
    throw error
  }
}
