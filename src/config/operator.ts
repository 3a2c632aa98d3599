/**
 * The parsed `OPERATOR_FILE`: the folders, hosts and commands that the operator of the service lets sessions reach. No registered entry, no request
 * and no model can name a path, a host or a command beyond it.
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
  /** The absolute path of the folder, which existed at the start. */
  readonly path: string
  /** Whether skills that lie in the folder (`.agents/skills`, …) may be started. */
  readonly hasSkills: boolean
  /** The commands that show whether a change is good, such as tests, by name. */
  readonly checks: ReadonlyMap<string, string>
  /** The files that may be read as logs, by name; each is a path relative to the folder, and lies below it. */
  readonly logs: ReadonlyMap<string, string>
  /** Names of files that plans may change, beside those that every plan may change: `Procfile`, `*.go`. @default none */
  readonly mayChange?: readonly string[]
  /** The consent that a person must give before a plan writes in this workspace; a plan profile and a request can ask for more. */
  readonly confirm: 'diff' | 'deletions' | 'none'
  /** Whether a plan may commit to git what it has changed in this workspace. The rules for the command `git commit` apply as well. */
  readonly mayCommit: boolean
}

/** A target: the place where commands run, this machine or another one. */
export type Target = LocalTarget | SshTarget

/** The operator's rules for terminals (shells that a person types into) on a target. */
export interface TerminalOffer {
  /** Whether callers with the role `terminal` may open one, and type anything into it. @default false */
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
  /** Whether commands run in the sandbox bubblewrap. `auto`: where it works. `required`: without it no command runs. */
  readonly sandbox: 'auto' | 'required' | 'off'
  /** Whether commands in the sandbox can reach the network. */
  readonly hasNetwork: boolean
  /** Whether a session may run commands without asking a person. */
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
