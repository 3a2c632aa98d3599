import { contentHash, type Json, type JsonObject } from '../base/json.ts'
import { beginningOf } from '../base/text.ts'
import { COMMITS_ARE_ASKED, judgeCommand, type Judgement, type OperatorRules, stricter } from './command-rules.ts'
import type { Effect, Spent, Usage, WaitEffect } from './model.ts'
import type { Session } from './session.ts'

/** A kind of effect, apart from how it is performed. */
export interface EffectRow<E extends Effect = Effect> {
  /** Covers what must stay the same when a log is read again. Logs hold these digests: never change how they are computed. */
  digest (effect: E): string
  /** What a person has to see to decide about the effect. Digests of approvals cover it. */
  shown (effect: E): JsonObject
  /** What the audit log keeps of each effect that was begun. */
  subject (effect: E): JsonObject | undefined
  /** The target or workspace that the effect reaches. Access tokens can be limited to some names. */
  place (effect: E): string | undefined
  /** `rules` are those of now; the rules at the session's start count too, and the stricter wins. @default allowed */
  judge? (effect: E, session: Session, rules: OperatorRules): Judgement
  /** Why this person's approval would not count. @default it counts */
  refuses? (effect: E, approver: string): string | undefined
  /** Such an effect is never aborted, so that it writes files as a whole or not at all. */
  readonly isWhole?: boolean
  /** Whether an interrupted effect may be repeated without harm. */
  isRepeatable (effect: E, registry: ToolKnowledge): boolean
}

export interface ToolKnowledge {
  isRepeatableTool (tool: string): boolean
}

/** UTF-16 units of a command in an audit entry. */
const MAX_COMMAND = 500

const nothing = (): JsonObject => ({})
const nowhere = (): undefined => undefined
const always = (): boolean => true
const inTerminal = (terminal: string | undefined): JsonObject => terminal === undefined ? {} : { terminal }

export const ALLOW: Judgement = { answer: 'allow' }

/** The cast is safe: effects are plain data, and lack only the index signature of `Json`. */
function jsonOf (data: object): JsonObject {
  return data as JsonObject
}

function ask (rule: string): Judgement {
  return { answer: 'ask', rule }
}

/** This many equal calls since the user's last input need an approval: it stops a model that repeats itself. */
const REPEATED_CALLS = 3

/** @param third the rule for a call that comes for the third time */
function judgeAgain (effect: Effect, { doubtful, used: { calls } }: Session, third: string): Judgement {
  const digest = digestOf(effect)
  // A repeat of an interrupted call may do the same thing twice.
  if (doubtful.has(digest)) return ask('the same call was interrupted before, and may have been done')
  return (calls.get(digest) ?? 0) + 1 >= REPEATED_CALLS ? ask(third) : ALLOW
}

function unlessPlanning ({ engine }: Session, reason: string): Judgement | undefined {
  return engine.view.mayWrite === true ? undefined : { answer: 'deny', by: 'policy', reason }
}

export const EFFECTS: { readonly [K in Effect['kind']]: EffectRow<Extract<Effect, { readonly kind: K }>> } = {
  llm: {
    // Without the messages: else the whole dialogue would be hashed at every step.
    digest: ({ purpose }) => purpose,
    shown: nothing,
    subject: ({ purpose }) => ({ purpose }),
    place: nowhere,
    isRepeatable: always
  },
  tool: {
    digest: ({ tool, arguments: given }) => contentHash({ tool, arguments: given }),
    shown: ({ tool, arguments: given, timeout }) => ({ tool, arguments: given, timeoutMs: timeout }),
    subject: ({ tool }) => ({ tool }),
    place: nowhere,
    judge (effect, session) {
      const { tool } = effect
      if (session.start.ask.includes(tool)) return ask(`calls of ${tool} are approved one by one`)
      return judgeAgain(effect, session, `the same call of ${tool} for the third time since the user spoke`)
    },
    isRepeatable: ({ tool }, registry) => registry.isRepeatableTool(tool)
  },
  exec: {
    digest: ({ target, command, terminal }) => contentHash({ target, command, ...inTerminal(terminal) }),
    shown ({ target, cwd, command, origin, timeout, terminal }) {
      return { target, folder: cwd ?? '', command, origin, timeoutMs: timeout, ...inTerminal(terminal) }
    },
    subject: ({ target, command }) => ({ target, command: beginningOf(command, MAX_COMMAND) }),
    place: ({ target }) => target,
    judge (effect, session, { commands }) {
      const now = commands(effect)
      const began = judgeCommand(effect, session.start.commands)
      const verdict = now === undefined ? began : stricter(began, judgeCommand(effect, now))
      return verdict.answer === 'allow' ? judgeAgain(effect, session, 'the same command for the third time since the user spoke') : verdict
    },
    // An interrupted command may have changed anything.
    isRepeatable: () => false
  },
  shell: {
    digest: ({ target }) => contentHash({ target }),
    shown: ({ target }) => ({ target }),
    subject: ({ target }) => ({ target }),
    place: ({ target }) => target,
    // The programs in an interrupted shell have ended too.
    isRepeatable: () => false
  },
  check: {
    digest: ({ workspace, check }) => contentHash({ workspace, check }),
    shown: nothing,
    subject: ({ workspace, check }) => ({ workspace, check }),
    place: ({ workspace }) => workspace,
    judge: (_effect, session) => unlessPlanning(session, 'nothing is written while a plan is made') ?? ALLOW,
    isRepeatable: always
  },
  read: {
    digest: () => '',
    shown: nothing,
    subject: ({ from, requests }) => ({ ...from, requests: requests.length }),
    place: ({ from }) => 'target' in from ? from.target : from.workspace,
    isRepeatable: always
  },
  apply: {
    digest: ({ workspace, change }) => contentHash({ workspace, change }),
    shown: ({ workspace, change, timeout }) => ({ workspace, change, timeoutMs: timeout }),
    subject: ({ workspace, deletes }) => ({ workspace, deletes }),
    place: ({ workspace }) => workspace,
    judge ({ deletes }, session) {
      return unlessPlanning(session, 'nothing is written while a plan is made') ?? (deletes ? ask('deletions are approved one by one') : ALLOW)
    },
    isWhole: true,
    // The workspace's journal tells whether the change was done.
    isRepeatable: always
  },
  commit: {
    digest: ({ workspace, paths, message }) => contentHash({ workspace, paths, message }),
    shown: ({ workspace, paths, message, timeout }) => ({ workspace, paths, message, timeoutMs: timeout }),
    subject: ({ workspace, paths }) => ({ workspace, paths: paths.length }),
    place: ({ workspace }) => workspace,
    judge (effect, session, { commits }) {
      return unlessPlanning(session, 'nothing is committed while a plan is made') ?? commits(effect) ?? ask(COMMITS_ARE_ASKED)
    },
    isWhole: true,
    // A commit made before is recognised by its trailer, which names this effect.
    isRepeatable: always
  },
  remember: {
    digest: ({ workspace, patch }) => contentHash({ workspace, patch }),
    shown: nothing,
    subject: ({ workspace }) => ({ workspace }),
    place: ({ workspace }) => workspace === '' ? undefined : workspace,
    isRepeatable: always
  },
  child: {
    digest: ({ definition, input }) => contentHash({ definition, input: { ...input } }),
    shown: ({ name, definition, input, place }) => ({ name, definition, input: { ...input }, ...(place === undefined ? {} : { place }) }),
    subject: ({ definition }) => ({ definition }),
    // With `manual` the user runs the commands, so no target is reached.
    place: ({ place }) => place === 'manual' ? undefined : place,
    judge: ({ definition }, { start }) => start.ask.includes(definition) ? ask(`calls of ${definition} are approved one by one`) : ALLOW,
    // A repeat finds the same child, since its id follows from the effect's id.
    isRepeatable: always
  },
  tests: {
    digest: ({ prompt, label, versions }) => contentHash({ prompt, label, versions }),
    shown: nothing,
    subject: ({ prompt, versions }) => ({ prompt, versions }),
    place: nowhere,
    isRepeatable: always
  },
  move: {
    digest: ({ change, looks }) => contentHash(jsonOf({ change, looks })),
    shown: ({ id: _id, kind: _kind, timeout: _timeout, change, ...rest }) => jsonOf({ ...change, ...rest }),
    subject: ({ change: { prompt, label, from, to } }) => jsonOf({ prompt, label, from, to }),
    place: nowhere,
    judge: ({ change: { label }, looks: { by, of } }) => of === 0 ? ALLOW : ask(`${label} is moved when others have looked: ${by.length} of ${of} have`),
    refuses ({ looks: { author, by } }, approver) {
      if (approver === author) return 'who asks for a move does not agree to it: somebody else has to look'
      return by.includes(approver) ? 'who has agreed already does not count twice: somebody else has to look' : undefined
    },
    // A move that was made is recognised by its entry in the record, which names the session.
    isRepeatable: always
  },
  wait: {
    digest: () => '',
    shown: nothing,
    subject: () => undefined,
    place: nowhere,
    isRepeatable: always
  }
}

export function rowOf (effect: Effect): EffectRow {
  return EFFECTS[effect.kind]
}

export function digestOf (effect: Effect): string {
  return rowOf(effect).digest(effect)
}

export function contentOf (effect: Effect): JsonObject {
  return { kind: effect.kind, ...rowOf(effect).shown(effect) }
}

export type ActiveEffect = Exclude<Effect, WaitEffect>

export type Outcome =
  | { readonly kind: 'result', readonly result: Json, readonly usage?: Usage, readonly spent?: Spent }
  | { readonly kind: 'failure', readonly code: string, readonly message: string, readonly spent?: Spent }
  /** Nobody knows how the effect ended. */
  | { readonly kind: 'unknown', readonly reason?: string }

export interface Performer {
  /** An expected failure is an outcome too; a thrown error becomes `INTERNAL`. Live messages are not stored. */
  perform (session: Session, effect: ActiveEffect, signal: AbortSignal, publish: (live: JsonObject) => void): Promise<Outcome>
  isRepeatable (effect: ActiveEffect): boolean
}
