/**
 * What the operator lets sessions reach: folders, hosts and commands, out of `OPERATOR_FILE`. No registration, no request and
 * no model names a path, a host or a command beyond it.
 */
export interface OperatorFile {
  readonly workspaces: ReadonlyMap<string, Workspace>
  readonly targets: ReadonlyMap<string, Target>
  /** For commands, in the order of the file. */
  readonly rules: readonly OperatorRule[]
}

/** A folder with files of a project. */
export interface Workspace {
  readonly name: string
  /** Absolute; a folder that was there at the start. */
  readonly path: string
  /** Whether the skills in it (`.agents/skills`, …) may be started. */
  readonly hasSkills: boolean
  /** Commands that tell whether a change is good, by name. */
  readonly checks: ReadonlyMap<string, string>
  /** Files that may be read as logs, by name; each a path below the folder, relative to it. */
  readonly logs: ReadonlyMap<string, string>
  /** Names that plans may change beside those of the protocol: `Procfile`, `*.go`. @default none */
  readonly mayChange?: readonly string[]
  /** What a person agrees to before a plan writes here; a profile and a request can be stricter. */
  readonly confirm: 'diff' | 'deletions' | 'none'
  /** Whether a plan may commit what it has changed here; the rules for `git commit` still hold. */
  readonly mayCommit: boolean
}

/** Where commands run. */
export type Target = LocalTarget | SshTarget

/** What the operator says of terminals on a target. */
export interface TerminalOffer {
  /** Whether whoever has the role may open a terminal, and type anything there. @default false */
  readonly mayOpenTerminal?: boolean
  /** Whether what terminals show is recorded. @default false */
  readonly isRecorded?: boolean
}

/** This machine. */
export interface LocalTarget extends TerminalOffer {
  readonly type: 'local'
  readonly name: string
  /** Where commands begin, and what they are jailed to. */
  readonly workspace: Workspace
  /** `auto`: bubblewrap where it works. `required`: nothing runs without it. */
  readonly sandbox: 'auto' | 'required' | 'off'
  /** Whether sandboxed commands reach the network. */
  readonly hasNetwork: boolean
  /** Whether a session may run commands unasked. */
  readonly mayRunUnasked: boolean
  /** Names of variables that commands get, out of the service's environment. */
  readonly environment: readonly string[]
}

/** Another machine. */
export interface SshTarget extends TerminalOffer {
  readonly type: 'ssh'
  readonly name: string
  readonly host: string
  readonly port: number
  readonly user: string
  /** `SHA256:…`, as `ssh-keygen -l` prints it: no host is trusted on first use. */
  readonly hostKey: string
  /** Absolute path of a private key; without it the agent of `SSH_AUTH_SOCK` is asked. */
  readonly keyFile?: string
  /** Where commands begin; the user's home without it. */
  readonly cwd?: string
  readonly hasSkills: boolean
  readonly mayRunUnasked: boolean
}

/** Says of a command whether it runs; deny goes before ask, ask before allow. */
export interface OperatorRule {
  readonly effect: 'allow' | 'ask' | 'deny'
  /** Words, with `*` for any characters of a word; as the last word, for any further words, or none. */
  readonly command: string
  /** Names of targets. @default all */
  readonly targets?: readonly string[]
}

/** Without `OPERATOR_FILE`: nothing can be reached. */
export const NOTHING_OFFERED: OperatorFile = { workspaces: new Map(), targets: new Map(), rules: [] }
