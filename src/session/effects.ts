import { contentHash, type JsonObject } from '../base/json.ts'
import { beginningOf } from '../base/text.ts'
import { type Effect } from './model.ts'

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
