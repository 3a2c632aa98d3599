import { type Json, type JsonObject } from '../base/json.ts'
import { type LabelTarget } from '../registry/kinds/release-record.ts'

export type Status = 'running' | 'waiting_input' | 'waiting_approval' | 'completed' | 'failed' | 'cancelled' | 'expired'

export const ENDED: ReadonlySet<Status> = new Set<Status>(['completed', 'failed', 'cancelled', 'expired'])

/** An entry of a session's append-only log. The session is computed from its log entries alone. */
export interface LogEntry {
  /** Counts from 1, without a gap. */
  readonly seq: number
  /** In ms since 1970, by the clock of the replica that wrote it. */
  readonly at: number
  /** Random. A retry sends the same token, so that the store recognises it. */
  readonly token: string
  /** The replica that wrote the log entry performs the effects that it begins. */
  readonly by: string
  readonly fact: Fact
  readonly begun: readonly Begun[]
  readonly held: readonly Held[]
  readonly denied: readonly Denied[]
  readonly notices: readonly Notice[]
}

/** The effect itself is not stored: the engine computes it again when the log is read. */
export interface Begun {
  readonly id: string
  readonly kind: Effect['kind']
  /** On reading the log, the effect must have this digest. Empty where only the kind must stay the same. */
  readonly digest: string
  /** For people who read the audit log. */
  readonly subject?: JsonObject
}

/** Stored whole, so that people can read what waits for an approval. */
export interface Held {
  readonly effect: Effect
  readonly digest: string
  readonly rule: string
  /** As they were at the time of the question: host, folder, sandbox. */
  readonly about: JsonObject
}

export interface Denied {
  readonly id: string
  readonly by: 'policy' | 'budget'
  readonly reason: string
}

/** What happened to a session. Engines compute a session's state from facts alone. */
export type Fact =
  | { readonly kind: 'started', readonly start: Start }
  | { readonly kind: 'input', readonly id: string, readonly by: string, readonly text: string, readonly action?: Action }
  | { readonly kind: 'result', readonly effect: string, readonly result: Json, readonly usage?: Usage, readonly spent?: Spent }
  | { readonly kind: 'failure', readonly effect: string, readonly code: string, readonly message: string, readonly spent?: Spent }
  /** Nobody knows how the effect ended. After the session's end: it was aborted, and perhaps still runs. */
  | {
    readonly kind: 'unknown',
    readonly effect: string,
    readonly reason?: string,
    /** The command that really began: a person may have edited the engine's. */
    readonly command?: string
  }
  /** `digest` is that of the approved content; `command` replaces the engine's. */
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
    /** A person may have edited the one that was proposed. */
    readonly command?: string
  }
  /** The effects begin again under the same ids: another replica continues, or a changed approval is asked again. */
  | { readonly kind: 'took', readonly from?: string, readonly repeats: readonly string[] }
  | { readonly kind: 'stopped', readonly by: StopCause, readonly reason: string }

/** What a user sends instead of words, such as a command's result, `skip` or `undo`. Each engine defines its own. */
export interface Action {
  readonly name: string
  readonly data: JsonObject
}

export type Decision = 'approve' | 'reject'

export type StopCause = 'cancel' | 'expiry' | 'budget' | 'fault'

/** All that the engine begins with, written to the log: later edits of the definition do not change the session. */
export interface Start {
  /** With the version, such as `agent/1`. */
  readonly engine: string
  /** Such as `agents/helper`; `revision` is the hash of its content at the start. */
  readonly definition: string
  readonly revision: string
  readonly setting: Json
  readonly input: JsonObject
  /** The name of the client's access token; empty where the service uses none. */
  readonly owner: string
  readonly budget: Budget
  /** Ids of tools and definitions of which every call needs an approval. */
  readonly ask: readonly string[]
  /** As they were at the start. Without them, every command needs an approval. */
  readonly commands?: CommandPolicy
  /** The session that keeps the terminal open; the process that holds it performs this session's effects. */
  readonly terminal?: string
  /** Only a process that has this disk performs the session's effects. */
  readonly disk?: Disk
  /** The original's last copied log entry, and the size of the copied log in bytes. */
  readonly forkOf?: { readonly session: string, readonly seq: number, readonly bytes: number }
  /** `root`: the session that a client started; `line` has the root first, the parent last. */
  readonly parent?: {
    readonly session: string
    readonly effect: string
    readonly root: string
    readonly depth: number
    readonly line: ReadonlyArray<{ readonly session: string, readonly definition: string }>
  }
}

export interface CommandPolicy {
  readonly rules: readonly CommandRule[]
  /** Whether a command that no rule matches runs without an approval. */
  readonly isAuto: boolean
}

/** Deny goes before ask, and ask before allow. */
export interface CommandRule {
  readonly effect: 'allow' | 'ask' | 'deny'
  /** `*` in a word stands for any characters of it; as the last word, for any further words or none. */
  readonly command: string
  /** @default all targets */
  readonly targets?: readonly string[]
}

export interface Budget {
  /** Effects that may begin; a wait for the user does not count. */
  readonly steps: number
  /** Tokens that all models together may read and write. */
  readonly tokens: number
  /** The longest wait for a person, in ms; then the session expires. */
  readonly idle: number
}

export interface Spent extends Cost {
  readonly steps: number
  readonly tokens: number
}

/** Of calls of models; both are left out where nothing was counted, as in older logs. */
interface Cost {
  readonly usd?: number
  /** How many calls have a price that nobody knows. */
  readonly unpriced?: number
}

export interface Usage {
  readonly input: number
  readonly output: number
  /** What the call cost; null where nobody knows the price, and left out in older logs. */
  readonly usd?: number | null
}

/** What the service does because an engine asks for it. The id, `seq.n`, is the same whenever the log is read. */
export type Effect =
  | ModelEffect | ToolEffect | ExecEffect | ShellEffect | CheckEffect | ReadEffect | ApplyEffect | CommitEffect | RememberEffect | ChildEffect
  | TestsEffect | MoveEffect | WaitEffect

export interface ModelEffect {
  readonly id: string
  readonly kind: 'llm'
  /** By this name an engine tells its requests apart, such as `classify` or `turn`. */
  readonly purpose: string
  readonly messages: readonly JsonObject[]
  readonly fields: JsonObject
  /** Streams the answer to followers. `timeout` then bounds the time between two parts. */
  readonly live?: boolean
  /** JSON Schema of the answer: the result has `value`, or `problem` where the answer does not fit. */
  readonly returns?: JsonObject
  /** Bytes of the answer's JSON; a larger answer fails. @default the answer is cut to what the service keeps */
  readonly maxAnswer?: number
  /** In ms. */
  readonly timeout: number
}

export interface ToolEffect {
  readonly id: string
  readonly kind: 'tool'
  /** Left out where no model asked for the call. */
  readonly name?: string
  readonly tool: string
  /** The id that the model has given to the call. Not in digests: earlier logs do not have it. */
  readonly call?: string
  readonly arguments: JsonObject
  /** In ms. */
  readonly timeout: number
}

/** Runs a command on a target. */
export interface ExecEffect {
  readonly id: string
  readonly kind: 'exec'
  readonly target: string
  readonly command: string
  /** @default the target's own folder */
  readonly cwd?: string
  /** `fallback`: the model did not mark its answer as a command, so it always needs an approval. */
  readonly origin: 'model' | 'fallback'
  /** The session that keeps the terminal open; the command begins in the terminal's current folder. */
  readonly terminal?: string
  /** In ms. */
  readonly timeout: number
}

/** Several processes can share a disk. */
export interface Disk {
  /** In the form of a session's id, since processes without the disk call its processes by it. */
  readonly id: string
  /** The name of its machine, or one that the operator has given. */
  readonly name: string
}

export interface ShellEffect {
  readonly id: string
  readonly kind: 'shell'
  readonly target: string
  readonly cols: number
  readonly rows: number
}

/** Runs a check of a workspace by name: neither a log nor a model can choose the command. */
export interface CheckEffect {
  readonly id: string
  readonly kind: 'check'
  readonly workspace: string
  readonly check: string
  /** In ms. */
  readonly timeout: number
}

export interface ReadEffect {
  readonly id: string
  readonly kind: 'read'
  readonly from: { readonly target: string } | { readonly workspace: string }
  /** In a form that each engine defines. What a workspace lacks, the result has as a block of the type `missing`. */
  readonly requests: readonly JsonObject[]
  /** In ms. */
  readonly timeout: number
}

/** Changes files of a workspace, or undoes a change. */
export interface ApplyEffect {
  readonly id: string
  readonly kind: 'apply'
  readonly workspace: string
  readonly change: JsonObject
  /** Effects that are undone or redone together, all or none. Not in digests: earlier logs do not have them. */
  readonly together?: readonly string[]
  /** A person has to approve the deletion. False for an undo, and where the plan asks for no confirmation. */
  readonly deletes: boolean
  /** In ms. */
  readonly timeout: number
}

export interface CommitEffect {
  readonly id: string
  readonly kind: 'commit'
  readonly workspace: string
  /** The files changed for the session's goal. Nothing else is committed. */
  readonly paths: readonly string[]
  /** The service appends a trailer that names session and effect. */
  readonly message: string
  /** In ms. */
  readonly timeout: number
}

export interface RememberEffect {
  readonly id: string
  readonly kind: 'remember'
  readonly workspace: string
  readonly patch: JsonObject
  /** In ms. */
  readonly timeout: number
}

/** Starts another session and follows it to its end. The child's id follows from the effect, so a repeat starts no second. */
export interface ChildEffect {
  readonly id: string
  readonly kind: 'child'
  readonly name: string
  /** The parent's engine takes it from the list that the parent got at its start. */
  readonly definition: string
  readonly input: { readonly text: string, readonly params?: JsonObject }
  /** @default a part of the parent's remaining budget */
  readonly budget?: Spent
  /** A target for a skill, a workspace for a plan. */
  readonly place?: string
}

/** Runs the stored tests of a prompt with versions that a label would mean. */
export interface TestsEffect {
  readonly id: string
  readonly kind: 'tests'
  readonly prompt: string
  readonly label: string
  readonly versions: readonly number[]
  /** In ms. */
  readonly timeout: number
}

/** What a label would mean after its move, and what that is based on. */
export interface LabelChange {
  readonly prompt: string
  readonly label: string
  /** `null` for no such label. */
  readonly from: LabelTarget | null
  readonly to: LabelTarget | null
  /** A hash of its last move, `null` where none is recorded: a label that went and came back has moved. */
  readonly since: string | null
  /** Of the contents of the versions that it would mean, by number. */
  readonly hashes: Readonly<Record<string, string>>
}

/** Moves a label, when the last of the people who have to agree has looked at it. Until then only what it is based on is checked. */
export interface MoveEffect {
  readonly id: string
  readonly kind: 'move'
  readonly change: LabelChange
  /** A unified diff of what the label means now and would mean. */
  readonly diff: string
  readonly note?: string
  /** `tag` is that of the tests as they were run. Left out where none are asked for. */
  readonly tests?: { readonly tag: string, readonly passed: number }
  /** `by` has already agreed, `author` asks for it: none of them can agree again. `of` is how many have to; 0 for nobody. */
  readonly looks: { readonly author: string, readonly by: readonly string[], readonly of: number }
  /** In ms. */
  readonly timeout: number
}

export interface WaitEffect {
  readonly id: string
  readonly kind: 'wait'
}

export interface Notice {
  readonly type:
    | 'stdout' | 'log' | 'message' | 'ask' | 'step' | 'tool' | 'command' | 'files' | 'memory' | 'state' | 'approval' | 'child' | 'terminal' | 'error'
    | 'done'
  readonly data: JsonObject
}

/** A store that lost its last entries gives their numbers again: the random token tells such entries apart. */
export interface LogPosition {
  readonly seq: number
  readonly token: string
}

/** What lists show; the store keeps it beside the log. */
export interface Head extends LogPosition {
  readonly id: string
  readonly owner: string
  readonly engine: string
  readonly definition: string
  readonly status: Status
  /** Other effects may go on meanwhile. */
  readonly isAsking: boolean
  /** When the first was asked for of the approvals that wait, in ms since 1970. Heads that an earlier version wrote lack it. */
  readonly askedAt?: number
  /** In ms since 1970. */
  readonly createdAt: number
  readonly updatedAt: number
  /** `undefined` while the session needs no driver. */
  readonly driver: string | undefined
  readonly copied?: number
  readonly parent?: string
  readonly root?: string
  readonly children?: readonly string[]
  /** In one line: what a person wanted first. Heads that an earlier version wrote lack this and the next two. */
  readonly title?: string
  /** The state in which the engine is. */
  readonly word?: string
  /** Why the session failed, expired or was cancelled. */
  readonly problem?: Problem
}

export interface Problem {
  readonly code: string
  readonly message: string
}
