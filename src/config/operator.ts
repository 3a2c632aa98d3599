/**
 * The parsed `OPERATOR_FILE`: the folders, hosts and commands that the operator of the service lets sessions reach. No registered entry, no request
 * and no model can name a path, a host or a command that the file does not offer.
 */
export interface OperatorFile {
  readonly workspaces: ReadonlyMap<string, Workspace>
  readonly targets: ReadonlyMap<string, Target>
  /** The rules for commands, in the order of the file. */
  readonly rules: readonly OperatorRule[]
}

/** A folder with the files of a project, in which sessions may work. */
export interface Workspace {
  readonly name: string
  /** The absolute path of the folder, which existed when the service started. */
  readonly path: string
  /** Whether callers are allowed to start skills that lie in the folder (`.agents/skills`, …). */
  readonly hasSkills: boolean
  /** Files and folders outside of the folder that its commands in a sandbox can read, beside those of the system: toolchains, mostly. @default none */
  readonly readable?: readonly string[]
  /** The commands that show whether a change is good, such as tests, each by a name that the operator has chosen. */
  readonly checks: ReadonlyMap<string, string>
  /** The files that plans are allowed to read as logs, by name. Each is a path relative to the folder, and lies below the folder. */
  readonly logs: ReadonlyMap<string, string>
  /** Names of files that plans are allowed to change in addition to those that every plan can change. Examples: `Procfile`, `*.go`. @default none */
  readonly mayChange?: readonly string[]
  /** The consent that a person must give before a plan writes in this workspace; a plan profile and a request can ask for more. */
  readonly confirm: 'diff' | 'deletions' | 'none'
  /** Whether a plan is allowed to commit its changes in this workspace to git. The rules for the command `git commit` apply, too. */
  readonly mayCommit: boolean
  /** The name of the disk with the folder and with `STATE_DIR`, if several processes share both. @default the disk is of the processes with this `STATE_DIR` */
  readonly disk?: string
}

/** A target: the place where commands run, this machine or another one. */
export type Target = LocalTarget | SshTarget

/** The operator's rules for terminals (shells that a person types into) on a target. */
export interface TerminalOffer {
  /** Whether callers with the role `terminal` are allowed to open a terminal on the target, and to type anything into it. @default false */
  readonly mayOpenTerminal?: boolean
  /** Whether the output of terminals is recorded. @default false */
  readonly isRecorded?: boolean
}

/** A target on this machine. */
export interface LocalTarget extends TerminalOffer {
  readonly type: 'local'
  readonly name: string
  /** The folder in which commands begin, and which they cannot leave. */
  readonly workspace: Workspace
  /** Whether commands run in the sandbox bubblewrap. `auto`: if bubblewrap works on this machine. `required`: without it no command runs. */
  readonly sandbox: 'auto' | 'required' | 'off'
  /** Whether commands in the sandbox can reach the network. */
  readonly hasNetwork: boolean
  /** Whether the operator allows sessions to run commands here without asking a person. */
  readonly mayRunUnasked: boolean
  /** The names of environment variables that commands get from the service's own environment. */
  readonly environment: readonly string[]
}

/** A target on another machine, reached over SSH. */
export interface SshTarget extends TerminalOffer {
  readonly type: 'ssh'
  readonly name: string
  readonly host: string
  readonly port: number
  readonly user: string
  /** The fingerprint of the host's key, `SHA256:…`, as `ssh-keygen -l` prints it. It must be given, because no host is trusted on first use. */
  readonly hostKey: string
  /** The absolute path of a private key. Without it the SSH agent of `SSH_AUTH_SOCK` is asked. */
  readonly keyFile?: string
  /** The folder in which commands begin; without it the home of the user. */
  readonly cwd?: string
  readonly hasSkills: boolean
  readonly mayRunUnasked: boolean
}

/** A rule that says whether a command runs. Where several rules match, deny goes before ask, and ask before allow. */
export interface OperatorRule {
  readonly effect: 'allow' | 'ask' | 'deny'
  /** The pattern of a command: words, with `*` for any characters of a word. `*` as the last word stands for any further words, or none. */
  readonly command: string
  /** The names of the targets to which the rule applies. @default all */
  readonly targets?: readonly string[]
}

/** The empty operator's file, which counts when there is no `OPERATOR_FILE`: sessions can reach nothing. */
export const NOTHING_OFFERED: OperatorFile = { workspaces: new Map(), targets: new Map(), rules: [] }
