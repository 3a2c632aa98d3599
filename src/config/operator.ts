/** No registered entry, no request and no model can name a path, a host or a command that `OPERATOR_FILE` does not offer. */
export interface OperatorFile {
  readonly workspaces: ReadonlyMap<string, Workspace>
  readonly targets: ReadonlyMap<string, Target>
  readonly rules: readonly OperatorRule[]
}

export interface Workspace {
  readonly name: string
  /** Absolute; it existed when the service started. */
  readonly path: string
  /** Whether callers may start skills that lie in the folder (`.agents/skills`, …). */
  readonly hasSkills: boolean
  /** Outside of the folder, for commands in a sandbox: toolchains, mostly. @default none */
  readonly readable?: readonly string[]
  readonly checks: ReadonlyMap<string, string>
  /** By name; each path is relative to the folder, and lies below it. */
  readonly logs: ReadonlyMap<string, string>
  /** Beyond what every plan can change: `Procfile`, `*.go`. @default none */
  readonly mayChange?: readonly string[]
  /** Before a plan writes; a plan profile and a request can ask for more. */
  readonly confirm: 'diff' | 'deletions' | 'none'
  /** The rules for the command `git commit` apply, too. */
  readonly mayCommit: boolean
  /** If several processes share the folder and `STATE_DIR`. @default the disk is of the processes with this `STATE_DIR` */
  readonly disk?: string
}

export type Target = LocalTarget | SshTarget

interface TerminalOffer {
  /** For callers with the role `terminal`, who can type anything into it. @default false */
  readonly mayOpenTerminal?: boolean
  /** @default false */
  readonly isRecorded?: boolean
}

export interface LocalTarget extends TerminalOffer {
  readonly type: 'local'
  readonly name: string
  /** Commands begin in it, and cannot leave it. */
  readonly workspace: Workspace
  /** `auto`: if bubblewrap works on this machine. `required`: without it no command runs. */
  readonly sandbox: 'auto' | 'required' | 'off'
  readonly hasNetwork: boolean
  readonly mayRunUnasked: boolean
  readonly environment: readonly string[]
}

export interface SshTarget extends TerminalOffer {
  readonly type: 'ssh'
  readonly name: string
  readonly host: string
  readonly port: number
  readonly user: string
  /** `SHA256:…`, as `ssh-keygen -l` prints it; required, because no host is trusted on first use. */
  readonly hostKey: string
  /** An absolute path; without it the SSH agent of `SSH_AUTH_SOCK` is asked. */
  readonly keyFile?: string
  /** Without it, the home of the user. */
  readonly cwd?: string
  readonly hasSkills: boolean
  readonly mayRunUnasked: boolean
}

/** Where several rules match, deny goes before ask, and ask before allow. */
export interface OperatorRule {
  readonly effect: 'allow' | 'ask' | 'deny'
  /** Words, with `*` for any characters of a word; as the last word, `*` stands for any further words, or none. */
  readonly command: string
  /** @default all */
  readonly targets?: readonly string[]
}

/** Without an `OPERATOR_FILE`, sessions can reach nothing. */
export const NOTHING_OFFERED: OperatorFile = { workspaces: new Map(), targets: new Map(), rules: [] }
