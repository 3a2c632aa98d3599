import { contentHash, type JsonObject } from '../base/json.ts'
import { beginningOf } from '../base/text.ts'
import { type Effect } from './model.ts'

/** The properties of one kind of effect, apart from how an effect is performed. */
export interface EffectRow<E extends Effect = Effect> {
  /**
   * The digest of what must be equal whenever a log is read, beside the kind of the effect. Logs hold digests, so the way to
   * compute them must never change.
   */
  digest (effect: E): string
  /** The content that a person has to see to decide about the effect, beside its kind. Digests of approvals cover this content. */
  shown (effect: E): JsonObject
  /** A short description of the effect, which the audit keeps for each effect that was begun. */
  subject (effect: E): JsonObject | undefined
  /** The operator's target or workspace that the effect reaches. Access tokens can be limited to some of these places. */
  place (effect: E): string | undefined
  /** The rule by which the effect needs an approval in every session; `undefined`, or no such method, where it needs none. */
  asks? (effect: E): string | undefined
  /** Whether the effect may be repeated when nobody knows how far it came. @param registry the tools as they are registered now */
  isRepeatable (effect: E, registry: ToolKnowledge): boolean
}

/** The properties of registered tools that effects depend on. */
export interface ToolKnowledge {
  /** @param tool id of a registration */
  isRepeatableTool (tool: string): boolean
}

/** A table with a row for each kind of effect. */
export type EffectTable = { readonly [K in Effect['kind']]: EffectRow<Extract<Effect, { readonly kind: K }>> }

/** A command is shown up to this length in an audit, in UTF-16 units. */
const MAX_COMMAND = 500

const nothing = (): JsonObject => ({})
const nowhere = (): undefined => undefined
const always = (): boolean => true
const inTerminal = (terminal: string | undefined): JsonObject => terminal === undefined ? {} : { terminal }

/** The table of all kinds of effects. */
export const EFFECTS: EffectTable = {
  llm: {
    // A digest of what the model is sent would hash the whole dialogue at every step, and a repeated question changes nothing.
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
    // A command may have done anything.
    isRepeatable: () => false
  },
  shell: {
    digest: ({ target }) => contentHash({ target }),
    shown: ({ target }) => ({ target }),
    subject: ({ target }) => ({ target }),
    place: ({ target }) => target,
    // A shell that is gone takes what ran in it along.
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
    // A change of files finds out from its journal how far it came.
    isRepeatable: always
  },
  commit: {
    digest: ({ workspace, paths, message }) => contentHash({ workspace, paths, message }),
    shown: ({ workspace, paths, message, timeout }) => ({ workspace, paths, message, timeoutMs: timeout }),
    subject: ({ workspace, paths }) => ({ workspace, paths: paths.length }),
    place: ({ workspace }) => workspace,
    // The trailer of the newest commit says whether it is there.
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
    // What people run themselves is nobody's target.
    place: ({ place }) => place === 'manual' ? undefined : place,
    // The id of a child follows from its effect: nothing starts twice.
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

/** The row of an effect's kind. */
export function rowOf (effect: Effect): EffectRow {
  return EFFECTS[effect.kind]
}

/** The digest of what must be equal whenever a log is read, beside the kind of an effect. */
export function digestOf (effect: Effect): string {
  return rowOf(effect).digest(effect)
}

/** The content that a person has to see to decide about an effect. */
export function contentOf (effect: Effect): JsonObject {
  return { kind: effect.kind, ...rowOf(effect).shown(effect) }
}
