import { type Json, type JsonObject } from '../base/json.ts'

/** What a session is doing, as every client reads it. */
export type Status = 'running' | 'waiting_input' | 'waiting_approval' | 'completed' | 'failed' | 'cancelled' | 'expired'

/** The final statuses of a session. */
export const ENDED: ReadonlySet<Status> = new Set<Status>(['completed', 'failed', 'cancelled', 'expired'])

/**
 * A transition is one entry of a session's log: a fact, the effects that the service began because of it, and the notices
 * for the session's readers. The log is the session: everything else is computed from its transitions.
 */
export interface Transition {
  /** The number of the transition in its session's log. Numbers count from 1, without a gap. */
  readonly seq: number
  /** Milliseconds since 1970, by the clock of the replica that wrote it. */
  readonly at: number
  /** A random token made for this one append. A retry of the append sends the same token, so the store recognises it. */
  readonly token: string
  /** The id of the replica that wrote the transition. That replica also performs the effects that the transition begins. */
  readonly by: string
  readonly fact: Fact
  readonly begun: readonly Begun[]
  readonly held: readonly Held[]
  readonly denied: readonly Denied[]
  readonly notices: readonly Notice[]
}

/** The record of an effect that the service has begun. The effect itself is computed again when the log is read. */
export interface Begun {
  readonly id: string
  readonly kind: Effect['kind']
  /** A digest of the parts of the effect that must be equal when the log is read again; empty where only the kind must be equal. */
  readonly digest: string
  /** A short description of the effect, for people who read the audit. */
  readonly subject?: JsonObject
}

/** An effect that waits for a person's approval, kept whole so that people can read it. */
export interface Held {
  readonly effect: Effect
  readonly digest: string
  /** The rule because of which a person is asked. */
  readonly rule: string
  /** The circumstances that the person has to know beside the effect, as they were at the time of the question: the host, the folder, the sandbox. */
  readonly about: JsonObject
}

/** An effect that was not allowed. */
export interface Denied {
  readonly id: string
  readonly by: 'policy' | 'budget'
  readonly reason: string
}

/** A fact is something that happened to a session. Engines compute their state from facts alone. */
export type Fact =
  | { readonly kind: 'started', readonly start: Start }
  | { readonly kind: 'input', readonly id: string, readonly by: string, readonly text: string, readonly action?: Action }
  | { readonly kind: 'result', readonly effect: string, readonly result: Json, readonly usage?: Usage, readonly spent?: Spent }
  | { readonly kind: 'failure', readonly effect: string, readonly code: string, readonly message: string, readonly spent?: Spent }
  /** The effect began, and nobody knows how it ended. After the end of a session: the effect was aborted with it, and may still run. */
  | {
    readonly kind: 'unknown',
    readonly effect: string,
    readonly reason?: string,
    /** The command that was begun, for an effect that runs one. A person may have edited it. */
    readonly command?: string
  }
  /** A person answered an approval. `digest` is that of the allowed content; `command` replaces the command that the engine asked for. */
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
  /** Another replica drives the session from this transition on. It begins the effects named in `repeats` again, under their ids. */
  | { readonly kind: 'took', readonly from?: string, readonly repeats: readonly string[] }
  | { readonly kind: 'stopped', readonly by: StopCause, readonly reason: string }

/** What a user sends besides words: the result of a command, `skip`, `undo`. Each engine knows its own. */
export interface Action {
  readonly name: string
  readonly data: JsonObject
}

/** A person's answer to an approval. */
export type Decision = 'approve' | 'reject'

/** The reason for which a session was ended by something other than its engine. */
export type StopCause = 'cancel' | 'expiry' | 'budget' | 'fault'

/** A start holds everything that an engine may see of the outside world. Later edits of definitions do not change a running session. */
export interface Start {
  /** The name of the engine with its version, such as `agent/1`. */
  readonly engine: string
  /** The registry entry that the session runs, such as `agents/helper`. `revision` is the revision of that entry. */
  readonly definition: string
  readonly revision: string
  /** The parsed definition, with texts, numbers and the schemas of its tools. */
  readonly setting: Json
  readonly input: JsonObject
  /** The name of the access token that started the session; empty where the service uses no tokens. */
  readonly owner: string
  readonly budget: Budget
  /** The tools whose every call waits for an approval. */
  readonly ask: readonly string[]
  /** The operator's rules for commands. Without rules, every command waits for an approval. */
  readonly commands?: CommandPolicy
  /** The id of the terminal's session, where commands run in a terminal. The process that holds the terminal also drives this session. */
  readonly terminal?: string
  /** The original of a fork: its session, the number of the last copied transition, and the size of the copied log in bytes. */
  readonly forkOf?: { readonly session: string, readonly seq: number, readonly bytes: number }
  /** The parent of a child session; left out for a session that a client started. */
  readonly parent?: Parent
}

/** The parent of a child session, with the ancestors above it. */
export interface Parent {
  readonly session: string
  /** The id of the parent's effect that started the child. */
  readonly effect: string
  /** The id of the topmost ancestor: the session that a client started. */
  readonly root: string
  /** How many ancestors the child has. */
  readonly depth: number
  /** All ancestors, the root first and the parent last. */
  readonly line: ReadonlyArray<{ readonly session: string, readonly definition: string }>
}

/** The operator's policy for commands: which of them run without a person's approval. */
export interface CommandPolicy {
  readonly rules: readonly CommandRule[]
  /** Whether a command for which there is no rule runs without being asked for. */
  readonly isAuto: boolean
}

/** A rule for commands; deny goes before ask, and ask before allow. */
export interface CommandRule {
  readonly effect: 'allow' | 'ask' | 'deny'
  /** The pattern for a command. `*` in a word stands for any characters of the word; `*` as the last word stands for any further words, or none. */
  readonly command: string
  /** @default all */
  readonly targets?: readonly string[]
}

/** The budget of a session: what it may use at most. */
export interface Budget {
  /** The number of calls of models and tools in all. */
  readonly steps: number
  /** Tokens of all models, in and out. */
  readonly tokens: number
  /** How long the session may wait for people without a break, in ms. */
  readonly idle: number
}

/** An amount of a budget: what a child session may use of its parent's budget, or what it has used. */
export interface Spent {
  /** Calls of models, tools and further children. */
  readonly steps: number
  /** Tokens of all models, in and out. */
  readonly tokens: number
}

/** The tokens that one call of a model took. */
export interface Usage {
  readonly input: number
  readonly output: number
}

/** An effect is something that the service does for a session. Its id, `seq.n`, is the same whenever the log is read. */
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
  /** Whether the model's answer is streamed to followers. `timeout` then bounds the time between two parts of the answer. */
  readonly live?: boolean
  /** JSON Schema of the answer. The result has `value` when the answer fits the schema, else `problem`, which says what is wrong. */
  readonly returns?: JsonObject
  /** The largest answer, in bytes of its JSON; a longer one is a failure. @default the answer is cut to what the service keeps of any answer */
  readonly maxAnswer?: number
  /** In ms. */
  readonly timeout: number
}

/** Calls a registered tool. */
export interface ToolEffect {
  readonly id: string
  readonly kind: 'tool'
  /** The name by which the model called the tool; left out where no model asked for the call. */
  readonly name?: string
  readonly tool: string
  readonly arguments: JsonObject
  /** In ms. */
  readonly timeout: number
}

/** Runs a command on a target that the operator configured. */
export interface ExecEffect {
  readonly id: string
  readonly kind: 'exec'
  readonly target: string
  readonly command: string
  /** The folder in which the previous command ended. @default the target's own folder */
  readonly cwd?: string
  /** `fallback`: the model's answer was not marked as a command. Such a command always waits for an approval. */
  readonly origin: 'model' | 'fallback'
  /** The id of the terminal's session, for a command that runs in a terminal. It begins in the terminal's current folder. */
  readonly terminal?: string
  /** In ms. */
  readonly timeout: number
}

/** Keeps a shell open that a person types into. */
export interface ShellEffect {
  readonly id: string
  readonly kind: 'shell'
  readonly target: string
  readonly cols: number
  readonly rows: number
}

/** Runs a check of a workspace by its name. The operator's file holds the command, so neither a log nor a model can choose it. */
export interface CheckEffect {
  readonly id: string
  readonly kind: 'check'
  readonly workspace: string
  readonly check: string
  /** In ms. */
  readonly timeout: number
}

/** Reads from a target or a workspace what the operator allows to be read. */
export interface ReadEffect {
  readonly id: string
  readonly kind: 'read'
  readonly from: { readonly target: string } | { readonly workspace: string }
  /** The requests, in a form that each engine defines. The result leaves out what does not exist. */
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
  /** Whether the change deletes something. A person has to approve a deletion. */
  readonly deletes: boolean
  /** In ms. */
  readonly timeout: number
}

/** Commits files of a workspace to its repository. */
export interface CommitEffect {
  readonly id: string
  readonly kind: 'commit'
  readonly workspace: string
  /** The paths of the files that were changed for the goal. Nothing else is committed. */
  readonly paths: readonly string[]
  /** The commit message. The service appends a trailer that names the session and the effect. */
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
  /** The name by which the model called the child. */
  readonly name: string
  /** The child's definition, such as `agents/helper`. It is one of those that the session started with. */
  readonly definition: string
  /** The child's input: a text, and the parameters of a skill. */
  readonly input: ChildInput
  /** The budget that is reserved for the child. @default a part of the parent's remaining budget */
  readonly budget?: Spent
  /** The operator's target of a skill, or workspace of a plan. */
  readonly place?: string
}

/** The input of a child session. */
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

/** Names one transition of a session. The number alone is not enough: a store that lost its last transitions reuses their numbers. */
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
  /** Whether some effect of the session waits for a person's approval. Other effects may go on meanwhile. */
  readonly isAsking: boolean
  /** Milliseconds since 1970. */
  readonly createdAt: number
  readonly updatedAt: number
  /** The id of the replica that drives the session; undefined while the session needs no driver. */
  readonly driver: string | undefined
  /** The size of the log that a fork copied from its original, in bytes. */
  readonly copied?: number
  /** The id of a child's parent session. */
  readonly parent?: string
  /** The id of a child's topmost ancestor. */
  readonly root?: string
  /** The ids of the child sessions that run now. */
  readonly children?: readonly string[]
}
