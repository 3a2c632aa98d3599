import { type Json, type JsonObject } from '../base/json.ts'

/** What a session is doing, as every client reads it. */
export type Status = 'running' | 'waiting_input' | 'waiting_approval' | 'completed' | 'failed' | 'cancelled' | 'expired'

/** The statuses of a session that goes on no more. */
export const ENDED: ReadonlySet<Status> = new Set<Status>(['completed', 'failed', 'cancelled', 'expired'])

/**
 * One step of a session: a fact, what it made the service begin, and what it told the session's readers. The list of
 * these is the session; everything else is computed from it.
 */
export interface Transition {
  /** Counts from 1, without a gap. */
  readonly seq: number
  /** Milliseconds since 1970, by the clock of the replica that wrote it. */
  readonly at: number
  /** Made up for this one append: a resend has the same. */
  readonly token: string
  /** The replica that wrote it and, where something is begun, does it. */
  readonly by: string
  readonly fact: Fact
  readonly begun: readonly Begun[]
  readonly held: readonly Held[]
  readonly denied: readonly Denied[]
  readonly notices: readonly Notice[]
}

/** An effect that the service has begun. The effect itself follows from the fold. */
export interface Begun {
  readonly id: string
  readonly kind: Effect['kind']
  /** Of what must not differ when the log is read again; empty where nothing but the kind must be equal. */
  readonly digest: string
  /** What it is about, for people who read the audit. */
  readonly subject?: JsonObject
}

/** An effect that waits for a person's approval, kept whole so that people can read it. */
export interface Held {
  readonly effect: Effect
  readonly digest: string
  /** The rule that asks. */
  readonly rule: string
  /** What a person has to know beside the effect, as it was when it was asked for: the host, the folder, the sandbox. */
  readonly about: JsonObject
}

/** An effect that was not allowed. */
export interface Denied {
  readonly id: string
  readonly by: 'policy' | 'budget'
  readonly reason: string
}

/** What happened. Engines compute from facts alone. */
export type Fact =
  | { readonly kind: 'started', readonly start: Start }
  | { readonly kind: 'input', readonly id: string, readonly by: string, readonly text: string, readonly action?: Action }
  | { readonly kind: 'result', readonly effect: string, readonly result: Json, readonly usage?: Usage, readonly spent?: Spent }
  | { readonly kind: 'failure', readonly effect: string, readonly code: string, readonly message: string, readonly spent?: Spent }
  /** It began, and nobody knows how it ended; behind the end of a session, of what was ended with it. */
  | {
    readonly kind: 'unknown',
    readonly effect: string,
    readonly reason?: string,
    /** Of a command: the one that began, which a person may have edited. */
    readonly command?: string
  }
  /** The digest is that of what was allowed; a command is there in place of the one that was asked for. */
  | {
    readonly kind: 'decided',
    readonly effect: string,
    readonly by: string,
    readonly decision: Decision,
    readonly digest?: string,
    readonly reason?: string,
    readonly command?: string
  }
  | { readonly kind: 'refused', readonly effect: string, readonly by: 'policy' | 'person' | 'budget', readonly reason: string }
  /** Another replica drives from here; what it may repeat is begun again under the same id. */
  | { readonly kind: 'took', readonly from?: string, readonly repeats: readonly string[] }
  | { readonly kind: 'stopped', readonly by: StopCause, readonly reason: string }

/** What a user sends besides words: the result of a command, `skip`, `undo`. Each engine knows its own. */
export interface Action {
  readonly name: string
  readonly data: JsonObject
}

/** A person's answer to an approval. */
export type Decision = 'approve' | 'reject'

/** Why a session ended that its engine did not end. */
export type StopCause = 'cancel' | 'expiry' | 'budget' | 'fault'

/** Everything an engine may see of the world outside: nothing that is edited later changes a running session. */
export interface Start {
  /** Which engine, and which version of it. */
  readonly engine: string
  /** The registry's entry, `agents/helper`, and the revision that started. */
  readonly definition: string
  readonly revision: string
  /** The parsed definition, with texts, numbers and the schemas of its tools. */
  readonly setting: Json
  readonly input: JsonObject
  /** The name of the token that started it; empty without tokens. */
  readonly owner: string
  readonly budget: Budget
  /** Tools of which each call waits for an approval. */
  readonly ask: readonly string[]
  /** What the operator says of commands; without it each of them is asked for. */
  readonly commands?: CommandPolicy
  /** The session of the terminal in which its commands run: whoever holds that one drives this one. */
  readonly terminal?: string
  /** The session and the number of the transition up to which this one is a copy, and what that took in its log. */
  readonly forkOf?: { readonly session: string, readonly seq: number, readonly bytes: number }
  /** Of a session that another one has started. */
  readonly parent?: Parent
}

/** Which session has started another one, and for what. */
export interface Parent {
  readonly session: string
  /** Of the parent: what it began then. */
  readonly effect: string
  /** The session that somebody has started, above all others. */
  readonly root: string
  /** How many sessions are above. */
  readonly depth: number
  /** Those above, the root first and the parent last. */
  readonly line: ReadonlyArray<{ readonly session: string, readonly definition: string }>
}

/** Which commands may run unasked, as the operator said when the session started. */
export interface CommandPolicy {
  readonly rules: readonly CommandRule[]
  /** Whether a command for which there is no rule runs without being asked for. */
  readonly isAuto: boolean
}

/** A rule for commands; deny goes before ask, and ask before allow. */
export interface CommandRule {
  readonly effect: 'allow' | 'ask' | 'deny'
  /** Words, with `*` for any characters of a word; as the last word, for any further words, or none. */
  readonly command: string
  /** @default all */
  readonly targets?: readonly string[]
}

/** Bounds of a session. */
export interface Budget {
  /** Calls of models and tools in all. */
  readonly steps: number
  /** Tokens of all models, in and out. */
  readonly tokens: number
  /** How long it may wait for people in one go, in ms. */
  readonly idle: number
}

/** What a child may use of its parent's budget, and what it has used. */
export interface Spent {
  /** Calls of models, tools and further children. */
  readonly steps: number
  /** Tokens of all models, in and out. */
  readonly tokens: number
}

/** Tokens of one call of a model. */
export interface Usage {
  readonly input: number
  readonly output: number
}

/** Something that the service does for a session. Its id, `seq.n`, is the same in every fold. */
export type Effect =
  | ModelEffect | ToolEffect | ExecEffect | ShellEffect | CheckEffect | ReadEffect | ApplyEffect | CommitEffect | RememberEffect | ChildEffect
  | WaitEffect

/** Asks the model. */
export interface ModelEffect {
  readonly id: string
  readonly kind: 'llm'
  /** Tells the requests of an engine apart: `classify`, `select`, `turn`. */
  readonly purpose: string
  readonly messages: readonly JsonObject[]
  /** Further fields of the request: `tools`, `temperature`, … */
  readonly fields: JsonObject
  /** Whether followers get the answer while it is written. `timeout` is then between two parts of it. */
  readonly live?: boolean
  /** JSON Schema of the answer: the result has `value` when it fits, else `problem`, what is wrong with it. */
  readonly returns?: JsonObject
  /** Of the answer, in bytes of its JSON: a longer one is a failure. @default what the service keeps of any answer, cut */
  readonly maxAnswer?: number
  /** In ms. */
  readonly timeout: number
}

/** Calls a registered tool. */
export interface ToolEffect {
  readonly id: string
  readonly kind: 'tool'
  /** What the model calls; left out of what no model has asked for. */
  readonly name?: string
  readonly tool: string
  readonly arguments: JsonObject
  /** In ms. */
  readonly timeout: number
}

/** Runs a command on a target of the operator's. */
export interface ExecEffect {
  readonly id: string
  readonly kind: 'exec'
  readonly target: string
  readonly command: string
  /** Where the command before it ended, as its result says; the target's own folder without it. */
  readonly cwd?: string
  /** `fallback`: the model did not say that it is a command. It never runs unasked. */
  readonly origin: 'model' | 'fallback'
  /** The session of the terminal in which it runs; it begins where that one is. */
  readonly terminal?: string
  /** In ms. */
  readonly timeout: number
}

/** A shell that a person types into, while it is open. */
export interface ShellEffect {
  readonly id: string
  readonly kind: 'shell'
  readonly target: string
  readonly cols: number
  readonly rows: number
}

/** Runs a check of a workspace, which the operator named: no log and no model says what it runs. */
export interface CheckEffect {
  readonly id: string
  readonly kind: 'check'
  readonly workspace: string
  readonly check: string
  /** In ms. */
  readonly timeout: number
}

/** Reads what the operator lets be read. */
export interface ReadEffect {
  readonly id: string
  readonly kind: 'read'
  readonly from: { readonly target: string } | { readonly workspace: string }
  /** What is wanted, in the words of the engine; what is not there is left out of the result. */
  readonly requests: readonly JsonObject[]
  /** In ms. */
  readonly timeout: number
}

/** Changes files of a workspace, or takes such a change back. */
export interface ApplyEffect {
  readonly id: string
  readonly kind: 'apply'
  readonly workspace: string
  readonly change: JsonObject
  /** Whether something is deleted by it: a person is asked then. */
  readonly deletes: boolean
  /** In ms. */
  readonly timeout: number
}

/** Commits files of a workspace to its repository. */
export interface CommitEffect {
  readonly id: string
  readonly kind: 'commit'
  readonly workspace: string
  /** What was changed for the goal: nothing else is committed. */
  readonly paths: readonly string[]
  /** A trailer that names the session and the effect goes behind it. */
  readonly message: string
  /** In ms. */
  readonly timeout: number
}

/** Remembers preferences, of the session's owner or of a workspace. */
export interface RememberEffect {
  readonly id: string
  readonly kind: 'remember'
  readonly workspace: string
  readonly patch: JsonObject
  /** In ms. */
  readonly timeout: number
}

/** Starts another session, whose id follows from this effect, and follows it to its end. */
export interface ChildEffect {
  readonly id: string
  readonly kind: 'child'
  /** What the model calls. */
  readonly name: string
  /** Among those that the session started with, as `agents/helper`. */
  readonly definition: string
  /** Words, and the parameters of a skill. */
  readonly input: ChildInput
  /** Reserved as a whole. @default a part of what is left */
  readonly budget?: Spent
  /** The operator's target of a skill, or workspace of a plan. */
  readonly place?: string
}

/** What a child is asked for. */
export interface ChildInput {
  readonly text: string
  readonly params?: JsonObject
}

/** Waits for the session's user. */
export interface WaitEffect {
  readonly id: string
  readonly kind: 'wait'
}

/** What an engine tells the session's readers. */
export interface Notice {
  readonly type:
    | 'stdout' | 'log' | 'message' | 'ask' | 'step' | 'tool' | 'command' | 'files' | 'memory' | 'state' | 'approval' | 'child' | 'terminal' | 'error'
    | 'done'
  readonly data: JsonObject
}

/** Names one transition of a session: the number alone does not, once a store has lost its tail. */
export interface Position {
  readonly seq: number
  readonly token: string
}

/** What lists show of a session, kept beside its log by the store. */
export interface Head extends Position {
  readonly id: string
  readonly owner: string
  readonly engine: string
  readonly definition: string
  readonly status: Status
  /** Whether something of it waits for a person, while the rest may go on. */
  readonly isAsking: boolean
  /** Milliseconds since 1970. */
  readonly createdAt: number
  readonly updatedAt: number
  /** The replica that acts for it; undefined while nobody has to. */
  readonly driver: string | undefined
  /** What a fork has copied, in bytes. */
  readonly copied?: number
  /** Of a child: the session that has started it. */
  readonly parent?: string
  /** Of a child: the session above all others. */
  readonly root?: string
  /** The children that it waits for. */
  readonly children?: readonly string[]
}
