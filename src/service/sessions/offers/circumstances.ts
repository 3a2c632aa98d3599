import { type JsonObject } from '../../../base/json.ts'
import { type OperatorFile, type Target, type Workspace } from '../../../config/operator.ts'
import { judgeCommit } from '../../../session/command-rules.ts'
import { type Circumstances } from '../../../session/gate.ts'
import { type ApplyEffect, type ExecEffect, type Start } from '../../../session/model.ts'
import { type OpenEffect } from '../../../session/session.ts'

/** Gives the current folder of the shell in a terminal that this process has open, `''` where nobody knows it. */
export interface TerminalFolders {
  folderOf (terminal: string): string | undefined
}

/**
 * Makes the checks of what sessions are allowed to do. The operator's file decides that, as it is now: a session that began under an earlier
 * file gets no more than the present file allows.
 */
export function circumstancesOf ({ targets, workspaces, rules }: OperatorFile, terminals: TerminalFolders = { folderOf: () => undefined }): Circumstances {
  return {
    commands: ({ target }) => ({ rules, isAuto: targets.get(target)?.mayRunUnasked === true }),
    commits ({ workspace: name }) {
      if (workspaces.get(name)?.mayCommit !== true) return { answer: 'deny', by: 'policy', reason: `the operator allows no commits in "${name}"` }
      return judgeCommit([...targets.values()].filter(target => target.type === 'local' && target.workspace.name === name).map(target => target.name), rules)
    },
    about ({ start, open }, effect) {
      if (effect.kind === 'exec') return aboutCommand(effect, targets.get(effect.target), () => folderIn(effect, terminals, open.get(effect.id)))
      return effect.kind === 'apply' ? aboutChange(effect, start, workspaces.get(effect.workspace)) : {}
    }
  }
}

/** What a person is shown about a command before allowing it: the folder or machine on which it would run, the sandbox, the network. */
function aboutCommand ({ cwd: given, terminal }: ExecEffect, target: Target | undefined, folderInTerminal: () => string): JsonObject {
  const cwd = terminal === undefined ? given : folderInTerminal()
  const unknown = cwd === '' ? { folderUnknown: true } : {}
  switch (target?.type) {
    case 'local': return { folder: cwd ?? target.workspace.path, ...unknown, sandbox: target.sandbox, network: target.hasNetwork }
    case 'ssh': return { host: target.host, port: target.port, user: target.user, folder: cwd ?? target.cwd ?? '~', ...unknown }
    default: return {}
  }
}

/**
 * The folder in which a command in a terminal would begin. If this process does not have the terminal open, it is the folder that was shown when
 * approval was asked.
 */
function folderIn ({ terminal = '' }: ExecEffect, terminals: TerminalFolders, open: OpenEffect | undefined): string {
  const shown = open?.question?.about['folder']
  return terminals.folderOf(terminal) ?? (typeof shown === 'string' ? shown : '')
}

/** What a person is shown about a change of files before allowing it: the checks that run after it, with their commands. */
function aboutChange ({ change }: ApplyEffect, { setting }: Start, workspace: Workspace | undefined): JsonObject {
  const { checks = [] } = setting as { readonly checks?: readonly string[] } | null ?? {}
  return Object.hasOwn(change, 'do') ? { checks: checks.map(name => ({ name, command: workspace?.checks.get(name) ?? '' })) } : {}
}
