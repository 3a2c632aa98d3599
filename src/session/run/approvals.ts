import { approvalDecided, approvalNotFound, approvalOutdated, sessionEnded } from '../../base/errors.ts'
import { type Approval, approvalId, approvalOf, approvalsIn, describeApproval } from '../approval.ts'
import { type AnswerFact, type Decided, decisionOn, isSameAnswer, type PastApproval, type PersonsAnswer } from '../decide.ts'
import { type Circumstances } from '../gate.ts'
import { type Effect, type Fact } from '../model.ts'
import { openIn, type Session } from '../session.ts'
import { type SessionLog } from '../session-log.ts'

/** Appends the fact that `decide` returns to a session's log; appends nothing when `decide` returns `undefined`. */
export type Commit = (id: string, decide: (session: Session) => Fact | undefined) => Promise<Session>

/** The approvals of sessions: the questions to people whether effects (such as commands) may be performed, and their answers. */
export class Approvals {
  readonly #log: SessionLog
  readonly #about: Circumstances['about']
  readonly #commit: Commit

  /** @param about gives the circumstances, as they are now, of an effect that a person is asked about */
  constructor (log: SessionLog, about: Circumstances['about'], commit: Commit) {
    this.#log = log
    this.#about = about
    this.#commit = commit
  }

  /** The approvals of a session that wait for an answer, with the circumstances as they are now. */
  of (session: Session): readonly Approval[] {
    return approvalsIn(session, this.#about)
  }

  /**
   * Writes a person's decision about an effect that waits for an approval. An equal answer of the same person counts once, however often it comes.
   * @throws SESSION_NOT_FOUND, APPROVAL_NOT_FOUND, SESSION_ENDED; APPROVAL_OUTDATED when the content differs from what the person was shown;
   * APPROVAL_DECIDED when the effect was decided otherwise, or by somebody else. These two errors carry the approval that waits now, if there is
   * one
   * @param mayShow whether the person may be shown another effect that waits
   */
  async decide (
    id: string,
    effect: string,
    answer: PersonsAnswer,
    mayShow: (effect: Effect) => boolean
  ): Promise<{ readonly session: Session, readonly decided: Decided }> {
    let written: AnswerFact | undefined
    const session = await this.#commit(id, before => (written = decisionOn(before, effect, answer, this.#about)))
    if (written?.kind === 'took') throw approvalOutdated(id, this.of(session).filter(each => each.effect === effect).map(describeApproval)[0])
    if (written !== undefined) return { session, decided: { ...written, at: session.updatedAt } }
    const past = await this.past(session, effect)
    if (past === undefined) throw approvalNotFound(approvalId(id, effect))
    const { decided } = past
    if (decided === undefined) throw sessionEnded(id, session.status)
    if (isSameAnswer(answer, past.effect, decided)) return { session, decided }
    const [next] = openIn(session, 'held').filter(open => mayShow(open.effect)).map(open => describeApproval(approvalOf(session, open, this.#about)))
    throw approvalDecided(approvalId(id, effect), { ...decided, at: new Date(decided.at).toISOString() }, next)
  }

  /** Reads a past approval and its answer from the log; `undefined` for an effect about which nobody was asked. @throws SessionStoreError */
  async past (session: Session, effect: string): Promise<PastApproval | undefined> {
    const asked = session.asked.get(effect)
    if (asked === undefined) return undefined
    const transition = async (seq: number | undefined) => seq === undefined ? undefined : await this.#log.transition(session.id, seq)
    const [asking, deciding] = await Promise.all([transition(asked.seq), transition(asked.decided)])
    const held = asking?.held.find(each => each.effect.id === effect)
    if (asking === undefined || held === undefined) return undefined
    return {
      effect: held.effect,
      asked: approvalOf(session, { effect: held.effect, question: { ...held, at: asking.at } }),
      decided: deciding?.fact.kind === 'decided' ? { ...deciding.fact, at: deciding.at } : undefined
    }
  }
}
