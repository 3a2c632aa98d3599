import { contentHash, type Json, type JsonObject } from '../base/json.ts'
import { beginningOf } from '../base/text.ts'
import type { Effect, Spent, Usage, WaitEffect } from './model.ts'
import type { Session } from './session.ts'

/** The properties of one kind of effect (something that the service does for a session, such as a model call or a command), apart from how it is performed. */
export interface EffectRow<E extends Effect = Effect> {
  /**
   * The digest of the parts of the effect that must stay the same whenever the session's log is read again, apart from the kind. Logs hold these
   * digests, so their computation must never change.
   */
  digest (effect: E): string
  /** The content, beside the effect's kind, that a person has to see to approve or reject the effect. Digests of approvals cover this content. */
  shown (effect: E): JsonObject
  /** A short description of the effect, which the audit log keeps for each effect that was begun. */
  subject (effect: E): JsonObject | undefined
  /** The name of the target (a machine or jail for commands) or workspace that the effect reaches, if any. Access tokens can be limited to some names. */
  place (effect: E): string | undefined
  /**
   * The rule, in words, because of which the effect needs a person's approval whatever the operator configured; `undefined` where no such rule
   * applies. A kind without this method has no such rule.
   */
  asks? (effect: E): string | undefined
  /**
   * Whether the effect may be repeated without harm when it was interrupted and nobody knows how far it came.
   * @param registry the tools as they are registered now
   */
  isRepeatable (effect: E, registry: ToolKnowledge): boolean
}

/** The knowledge about registered tools that decides whether a tool call may be repeated. */
export interface ToolKnowledge {
  /** Whether a call of the tool may be repeated without harm. @param tool id of the tool's registration */
  isRepeatableTool (tool: string): boolean
}

/** The type of a table with a row for each kind of effect. */
export type EffectTable = { readonly [K in Effect['kind']]: EffectRow<Extract<Effect, { readonly kind: K }>> }

/** The most that an audit entry shows of a command, in UTF-16 units. */
const MAX_COMMAND = 500

const nothing = (): JsonObject => ({})
const nowhere = (): undefined => undefined
const always = (): boolean => true
const inTerminal = (terminal: string | undefined): JsonObject => terminal === undefined ? {} : { terminal }

/** The table of all kinds of effects (what the service does for a session: model calls, commands, file changes), with the properties of each kind. */
export const EFFECTS: EffectTable = {
  llm: {
    // The digest leaves the messages out: else the whole dialogue would be hashed at every step.
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
    isRepeatable: ({ tool }, registry) => registry.isRepeatableTool(tool)
  },
  exec: {
    digest: ({ target, command, terminal }) => contentHash({ target, command, ...inTerminal(terminal) }),
    shown ({ target, cwd, command, origin, timeout, terminal }) {
      return { target, folder: cwd ?? '', command, origin, timeoutMs: timeout, ...inTerminal(terminal) }
    },
    subject: ({ target, command }) => ({ target, command: beginningOf(command, MAX_COMMAND) }),
    place: ({ target }) => target,
    // A command may have changed anything before it was interrupted, so it is never repeated.
    isRepeatable: () => false
  },
  shell: {
    digest: ({ target }) => contentHash({ target }),
    shown: ({ target }) => ({ target }),
    subject: ({ target }) => ({ target }),
    place: ({ target }) => target,
    // A shell that was interrupted cannot be continued: the programs in it have ended too.
    isRepeatable: () => false
  },
  check: {
    digest: ({ workspace, check }) => contentHash({ workspace, check }),
    shown: nothing,
    subject: ({ workspace, check }) => ({ workspace, check }),
    place: ({ workspace }) => workspace,
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
    asks: ({ deletes }) => deletes ? 'deletions are approved one by one' : undefined,
    // A repeated change is not done twice: the workspace's journal (the record of its changes) tells whether the change was done.
    isRepeatable: always
  },
  commit: {
    digest: ({ workspace, paths, message }) => contentHash({ workspace, paths, message }),
    shown: ({ workspace, paths, message, timeout }) => ({ workspace, paths, message, timeoutMs: timeout }),
    subject: ({ workspace, paths }) => ({ workspace, paths: paths.length }),
    place: ({ workspace }) => workspace,
    // A repeated commit finds out whether it was made before: the newest commit then has a trailer that names this effect.
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
    // `manual` means that the user runs the commands, so no target of the operator is reached.
    place: ({ place }) => place === 'manual' ? undefined : place,
    // A repeated start finds the same child, since the child's id is computed from the effect's id.
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

/** The properties of an effect's kind, from the table of all kinds. */
export function rowOf (effect: Effect): EffectRow {
  return EFFECTS[effect.kind]
}

/** Whether an effect that was begun is brought to its end, so that it writes files as a whole or not at all. */
export function isWhole ({ kind }: Effect): boolean {
  return kind === 'apply' || kind === 'commit'
}

/** The digest of the parts of an effect that must stay the same whenever the session's log is read again, apart from the effect's kind. */
export function digestOf (effect: Effect): string {
  return rowOf(effect).digest(effect)
}

/** The content that a person has to see to approve or reject an effect, without the circumstances (such as host and folder). */
export function contentOf (effect: Effect): JsonObject {
  return { kind: effect.kind, ...rowOf(effect).shown(effect) }
}

/** An effect that the service has to perform (a model call, a command …): every effect but waiting for the user. */
export type ActiveEffect = Exclude<Effect, WaitEffect>

/** The outcome of an effect: how it ended. */
export type Outcome =
  | { readonly kind: 'result', readonly result: Json, readonly usage?: Usage, readonly spent?: Spent }
  | { readonly kind: 'failure', readonly code: string, readonly message: string, readonly spent?: Spent }
  /** The effect began, and nobody knows how it ended. */
  | { readonly kind: 'unknown', readonly reason?: string }

/** A performer carries out the effects of sessions: it calls models and tools, runs commands, changes files. */
export interface Performer {
  /**
   * Performs an effect. An expected failure is an outcome too; when this method throws, the caller turns the error into the failure `INTERNAL`.
   * @param signal aborts when the outcome is no longer wanted
   * @param publish sends the session's followers a live message, such as a part of the outcome, that is not stored
   */
  perform (session: Session, effect: ActiveEffect, signal: AbortSignal, publish: (live: JsonObject) => void): Promise<Outcome>
  /** Whether an effect may be repeated without harm when it was interrupted and nobody knows how far it came. */
  isRepeatable (effect: ActiveEffect): boolean
}
