import { type Json, type JsonObject } from '../base/json.ts'

/** The status of a session, as every client reads it. */
export type Status = 'running' | 'waiting_input' | 'waiting_approval' | 'completed' | 'failed' | 'cancelled' | 'expired'

/** The final statuses: a session with one of these has ended. */
export const ENDED: ReadonlySet<Status> = new Set<Status>(['completed', 'failed', 'cancelled', 'expired'])

/**
 * A transition is one entry of a session's append-only log. It holds a fact (what happened), the effects that the service began because
 * of it (model calls, commands), and the notices for the session's followers. The session is computed from its transitions alone.
 */
export interface LogEntry {
  /** The number of the transition in its session's log. Numbers count from 1, without a gap. */
  readonly seq: number
  /** When the transition was written, in ms since 1970, by the clock of the replica (service process) that wrote it. */
  readonly at: number
  /** A random token that the replica made for the write of this transition. A retry sends the same token, so the store recognises the retry. */
  readonly token: string
  /** The id of the replica (service process) that wrote the transition. The same replica performs the effects that the transition begins. */
  readonly by: string
  readonly fact: Fact
  readonly begun: readonly Begun[]
  readonly held: readonly Held[]
  readonly denied: readonly Denied[]
  readonly notices: readonly Notice[]
}

/**
 * The record, in a session's log, of an effect (a model call, a command) that the service has begun. The effect itself is not stored: the
 * engine computes it again when the log is read.
 */
export interface Begun {
  readonly id: string
  readonly kind: Effect['kind']
  /**
   * A digest of the parts of the effect that must stay the same: when the log is read again, the engine must ask for an effect with the same
   * digest. Empty where only the kind must stay the same.
   */
  readonly digest: string
  /** A short description of the effect, for people who read the audit log. */
  readonly subject?: JsonObject
}

/** The record, in a session's log, of an effect that waits for a person's approval. The effect is stored whole, so that people can read it. */
export interface Held {
  readonly effect: Effect
  readonly digest: string
  /** The rule, in words, because of which a person is asked. */
  readonly rule: string
  /** The circumstances that the person has to know beside the effect, as they were at the time of the question: the host, the folder, the sandbox. */
  readonly about: JsonObject
}

/** The record, in a session's log, of an effect that was not begun, because a rule or the session's budget did not allow the effect. */
export interface Denied {
  readonly id: string
  readonly by: 'policy' | 'budget'
  readonly reason: string
}

/**
 * A fact is something that happened to a session, as its log holds it: an input, the result of an effect, a decision. Engines compute a
 * session's state from facts alone.
 */
export type Fact =
  | { readonly kind: 'started', readonly start: Start }
  | { readonly kind: 'input', readonly id: string, readonly by: string, readonly text: string, readonly action?: Action }
  | { readonly kind: 'result', readonly effect: string, readonly result: Json, readonly usage?: Usage, readonly spent?: Spent }
  | { readonly kind: 'failure', readonly effect: string, readonly code: string, readonly message: string, readonly spent?: Spent }
  /**
   * The effect began, and nobody knows how it ended. If the session had ended before this fact, the effect was aborted with the session, and
   * perhaps still runs.
   */
  | {
    readonly kind: 'unknown',
    readonly effect: string,
    readonly reason?: string,
    /** The command that really began, for an effect that runs one. It differs from the command that the engine asked for when a person has edited it. */
    readonly command?: string
  }
  /**
   * A person answered the question whether the effect may be performed. `digest` is the digest of the approved content; `command` replaces the
   * command that the engine asked for.
   */
  | {
    readonly kind: 'decided',
    readonly effect: string,
    readonly by: string,
    readonly decision: Decision,
    readonly digest?: string,
    readonly reason?: string,
    readonly command?: string
  }
  | {
    readonly kind: 'refused',
    readonly effect: string,
    readonly by: 'policy' | 'person' | 'budget',
    readonly reason: string,
    /** The command that was refused: a person may have edited the one that was proposed. */
    readonly command?: string
  }
  /**
   * The effects named in `repeats` have to be begun again, under the same ids. Either another replica (service process) continues the session, or a
   * person is asked again, because what has to be approved has changed since the question.
   */
  | { readonly kind: 'took', readonly from?: string, readonly repeats: readonly string[] }
  | { readonly kind: 'stopped', readonly by: StopCause, readonly reason: string }

/** An action that a user sends to a session instead of words, such as the result of a command, `skip` or `undo`. Each engine defines its own actions. */
export interface Action {
  readonly name: string
  readonly data: JsonObject
}

/** A person's decision about an approval. */
export type Decision = 'approve' | 'reject'

/** The cause why a session was ended by something other than its engine: a person, a timeout, the budget, or a fault. */
export type StopCause = 'cancel' | 'expiry' | 'budget' | 'fault'

/**
 * The start of a session: all data that its engine begins with. It is written to the log, so that later edits of the definition do not
 * change a running session.
 */
export interface Start {
  /** The name of the engine with its version, such as `agent/1`. */
  readonly engine: string
  /** The id of the agent, skill or plan that the session runs, such as `agents/helper`. `revision` is the hash of its content at the start. */
  readonly definition: string
  readonly revision: string
  /** The parsed definition that the engine works with: texts, numbers and the schemas of tools. */
  readonly setting: Json
  readonly input: JsonObject
  /** The name of the access token of the client that started the session; empty where the service uses no tokens. */
  readonly owner: string
  readonly budget: Budget
  /** The ids of the tools, and of the agents, skills and plans for child sessions, whose every call needs a person's approval. */
  readonly ask: readonly string[]
  /** The operator's rules that say which commands may run, as they were when the session started. When they are absent, every command needs an approval. */
  readonly commands?: CommandPolicy
  /**
   * When this session's commands run in a terminal (a shell that a person types into): the id of the session that keeps the terminal open. The
   * process that holds the terminal also performs this session's effects.
   */
  readonly terminal?: string
  /** The disk with the session's workspace and its journal, if it has one. Only a process that has this disk performs the session's effects. */
  readonly disk?: Disk
  /** The origin of a forked (copied) session: the original's id, the number of its last copied transition, and the size of the copied log in bytes. */
  readonly forkOf?: { readonly session: string, readonly seq: number, readonly bytes: number }
  /** The parent of a child session; left out for a session that a client started. */
  readonly parent?: Parent
}

/** The parent of a child session (the session that started it), with the ancestors above it. */
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

/** The operator's policy for commands: rules that say which commands run, which ones need a person's approval, and which ones are denied. */
export interface CommandPolicy {
  readonly rules: readonly CommandRule[]
  /** Whether a command that no rule matches runs without an approval. */
  readonly isAuto: boolean
}

/** A rule of the operator for commands. Of the rules that match a command, deny goes before ask, and ask before allow. */
export interface CommandRule {
  readonly effect: 'allow' | 'ask' | 'deny'
  /** The pattern for a command. `*` in a word stands for any characters of the word; `*` as the last word stands for any further words, or none. */
  readonly command: string
  /** The names of the targets to which the rule applies. @default all targets */
  readonly targets?: readonly string[]
}

/** The budget of a session: the most that it may use. */
export interface Budget {
  /** The most effects that the session is allowed to begin: model calls, tool calls, commands and so on. A wait for the user does not count. */
  readonly steps: number
  /** The most tokens that all models together are allowed to read and write. */
  readonly tokens: number
  /** The longest time for which the session waits for a person, in ms. After that it expires. */
  readonly idle: number
}

/** An amount of effects and tokens: the part of the parent's budget that a child session is allowed to use, or what a session has used. */
export interface Spent {
  /** The number of effects, such as model calls, tool calls and starts of child sessions. */
  readonly steps: number
  /** The number of tokens that models read and write. */
  readonly tokens: number
}

/** The number of tokens that one call of a model took. */
export interface Usage {
  readonly input: number
  readonly output: number
}

/**
 * An effect is something that the service does for a session because its engine asks for it: a model call, a command, a change of files.
 * Its id, `seq.n`, is the same whenever the log is read.
 */
export type Effect =
  | ModelEffect | ToolEffect | ExecEffect | ShellEffect | CheckEffect | ReadEffect | ApplyEffect | CommitEffect | RememberEffect | ChildEffect
  | WaitEffect

/** A model effect: the service sends messages to a model. */
export interface ModelEffect {
  readonly id: string
  readonly kind: 'llm'
  /** The engine's name for this request, such as `classify`, `select` or `turn`, by which it tells its requests apart. */
  readonly purpose: string
  readonly messages: readonly JsonObject[]
  /** Further fields of the request to the model: `tools`, `temperature`, … */
  readonly fields: JsonObject
  /** Whether the model's answer is streamed to followers of the session. `timeout` then bounds the time between two parts of the answer. */
  readonly live?: boolean
  /** The JSON Schema of the answer. The effect's result has `value` when the answer fits the schema, else `problem`, which says what is wrong. */
  readonly returns?: JsonObject
  /**
   * The largest size of the model's answer, in bytes of its JSON; a larger answer makes the effect fail.
   * @default a long answer is cut to the length that the service keeps of every model's answer
   */
  readonly maxAnswer?: number
  /** The time limit of the model call, in ms. */
  readonly timeout: number
}

/** A tool effect: the service calls a registered tool. */
export interface ToolEffect {
  readonly id: string
  readonly kind: 'tool'
  /** The name by which the model called the tool; left out where no model asked for the call. */
  readonly name?: string
  readonly tool: string
  readonly arguments: JsonObject
  /** The time limit of the tool call, in ms. */
  readonly timeout: number
}

/** An exec effect: the service runs a command on a target (a machine or jail that the operator configured). */
export interface ExecEffect {
  readonly id: string
  readonly kind: 'exec'
  readonly target: string
  readonly command: string
  /** The folder in which the command begins: where the session's previous command ended. @default the target's own folder */
  readonly cwd?: string
  /** The origin of the command. `fallback`: the model did not mark its answer as a command. Such a command always needs an approval. */
  readonly origin: 'model' | 'fallback'
  /** When the command runs in a terminal: the id of the session that keeps the terminal open. The command begins in the terminal's current folder. */
  readonly terminal?: string
  /** The time limit of the command, in ms. */
  readonly timeout: number
}

/** A disk with workspaces, which several processes can share. */
export interface Disk {
  /** In the form of a session's id, since processes without the disk call its processes by it. */
  readonly id: string
  /** The name by which people know it: that of its machine, or one that the operator has given. */
  readonly name: string
}

/** A shell effect: the service keeps a shell open that a person types into. */
export interface ShellEffect {
  readonly id: string
  readonly kind: 'shell'
  readonly target: string
  readonly cols: number
  readonly rows: number
}

/**
 * A check effect: the service runs a check of a workspace (a folder of files), such as its tests, by the check's name. The command is in
 * the operator's configuration, so neither a log nor a model can choose it.
 */
export interface CheckEffect {
  readonly id: string
  readonly kind: 'check'
  readonly workspace: string
  readonly check: string
  /** The longest time that the check is allowed to run, in ms. */
  readonly timeout: number
}

/** A read effect: the service reads files or facts about a target or a workspace, as far as the operator allows. */
export interface ReadEffect {
  readonly id: string
  readonly kind: 'read'
  readonly from: { readonly target: string } | { readonly workspace: string }
  /**
   * The requests for files or facts, in a form that each engine defines. When something does not exist in a target, the result leaves it out; when
   * it does not exist in a workspace, the result has a block of the type `missing` for it.
   */
  readonly requests: readonly JsonObject[]
  /** The longest time that reading all that is requested is allowed to take, in ms. */
  readonly timeout: number
}

/** An apply effect: the service changes files of a workspace, or undoes such a change. */
export interface ApplyEffect {
  readonly id: string
  readonly kind: 'apply'
  readonly workspace: string
  readonly change: JsonObject
  /**
   * For an undo or a redo, the ids of the effects whose changes are taken back or made again together, one effect after the other: while one of them
   * is impossible, none is done. Digests leave them out, since earlier logs do not have them.
   */
  readonly together?: readonly string[]
  /** Whether a person has to approve the change because it deletes a file. False for an undo, and where the plan asks for no confirmation. */
  readonly deletes: boolean
  /** The longest time that the change of the files is allowed to take, in ms. */
  readonly timeout: number
}

/** A commit effect: the service commits changed files of a workspace to its git repository. */
export interface CommitEffect {
  readonly id: string
  readonly kind: 'commit'
  readonly workspace: string
  /** The paths of the files to commit: those that were changed for the session's goal. Nothing else is committed. */
  readonly paths: readonly string[]
  /** The commit message. The service appends a trailer that names the session and the effect. */
  readonly message: string
  /** The longest time that the git commit is allowed to take, in ms. */
  readonly timeout: number
}

/** A remember effect: the service stores preferences of the session's owner, or of a workspace, for later sessions. */
export interface RememberEffect {
  readonly id: string
  readonly kind: 'remember'
  readonly workspace: string
  readonly patch: JsonObject
  /** The time limit of storing the preferences, in ms. */
  readonly timeout: number
}

/**
 * A child effect: the service starts another session, and follows it to its end. The child's id is computed from this effect, so a repeat
 * starts no second child.
 */
export interface ChildEffect {
  readonly id: string
  readonly kind: 'child'
  /** The name of the function by which the model called the child. */
  readonly name: string
  /**
   * The id of the agent, skill or plan that the child runs, such as `agents/helper`. The parent's engine takes it from the list that the parent
   * session got at its start.
   */
  readonly definition: string
  /** The child's input: a text, and for a skill its parameters. */
  readonly input: ChildInput
  /** The budget that is reserved for the child. @default a part of the parent's remaining budget */
  readonly budget?: Spent
  /** The place where the child works, by the name that the operator gave it: for a skill a target (where commands run), for a plan a workspace. */
  readonly place?: string
}

/** The input of a child session. */
export interface ChildInput {
  readonly text: string
  readonly params?: JsonObject
}

/** A wait effect: the session waits for an input of its user. */
export interface WaitEffect {
  readonly id: string
  readonly kind: 'wait'
}

/** A notice: an event for the followers of a session (the clients that watch it), such as a message or a change of the status. */
export interface Notice {
  readonly type:
    | 'stdout' | 'log' | 'message' | 'ask' | 'step' | 'tool' | 'command' | 'files' | 'memory' | 'state' | 'approval' | 'child' | 'terminal' | 'error'
    | 'done'
  readonly data: JsonObject
}

/**
 * The position of a transition in a session's log. The number alone is not enough: a store that has lost its last entries gives the same numbers to
 * other entries. A random token tells two entries of the same number apart.
 */
export interface LogPosition {
  readonly seq: number
  readonly token: string
}

/** The head of a session: a summary that lists show, which the store keeps beside the session's log. */
export interface Head extends LogPosition {
  readonly id: string
  readonly owner: string
  readonly engine: string
  readonly definition: string
  readonly status: Status
  /** Whether an effect of the session waits for a person's approval. Other effects may go on meanwhile. */
  readonly isAsking: boolean
  /** When the session was created, in ms since 1970. */
  readonly createdAt: number
  readonly updatedAt: number
  /** The id of the replica (service process) that drives the session: performs its effects. `undefined` while the session needs no driver. */
  readonly driver: string | undefined
  /** For a forked session: the size of the log entries that were copied from the original session, in bytes. */
  readonly copied?: number
  /** The id of the parent, for a child session. */
  readonly parent?: string
  /** The id of the topmost ancestor, for a child session. */
  readonly root?: string
  /** The ids of the session's children that run now. */
  readonly children?: readonly string[]
}
