import type { paths } from '../../.build/api.d.ts'
import { oddities } from '../parts/oddities.ts'
import type { Meaning } from '../prompts/releases/meaning.ts'
import { t } from '../text/text.ts'

export type ApprovalReply = paths['/api/approvals/{id}']['get']['responses']['200']['content']['application/json']

/** An action that waits for approval, as far as a card shows it. */
export interface Effect {
  readonly kind: 'exec' | 'tool' | 'apply' | 'commit' | (string & {})
  readonly command?: string
  readonly target?: string
  readonly folder?: string
  /** Whether nobody knows the folder in which the command would begin. */
  readonly folderUnknown?: boolean
  readonly host?: string
  readonly port?: number
  readonly user?: string
  readonly sandbox?: string
  readonly network?: boolean
  readonly origin?: string
  readonly timeoutMs?: number
  readonly tool?: string
  readonly arguments?: unknown
  readonly workspace?: string
  readonly change?: { readonly do?: { readonly actions: ReadonlyArray<{ readonly kind: string, readonly path: string }> } }
  /** These run by themselves when the change is written. */
  readonly checks?: ReadonlyArray<{ readonly name: string, readonly command: string }>
  /** The files and the message of a commit. */
  readonly paths?: readonly string[]
  readonly message?: string
  /** The id of the terminal in whose shell the command would run. */
  readonly terminal?: string
  /** The move of a label: of which prompt, between which versions, with which tests, asked for by whom, and who has agreed. */
  readonly prompt?: string
  readonly label?: string
  readonly from?: Meaning | null
  readonly to?: Meaning | null
  readonly diff?: string
  readonly note?: string
  readonly tests?: { readonly passed: number }
  readonly looks?: { readonly author: string, readonly by: readonly string[], readonly of: number }
}

/** A request for a person's approval, with the action. */
export interface Asked extends Omit<ApprovalReply, 'effect'> { readonly effect: Effect }

export const asked = (reply: ApprovalReply): Asked => reply as Asked

/**
 * The name of the place where the action would happen: a target, a workspace or a tool. For a dangerous action, the person who approves has
 * to type it.
 */
export function placeOf ({ effect }: Asked): string {
  return effect.target ?? effect.workspace ?? effect.tool ?? effect.label ?? effect.kind
}

/** The whole action as one text, which the person approves. */
export function textOf ({ effect }: Asked): string {
  if (effect.command !== undefined) return effect.command
  if (effect.kind === 'tool') return `${effect.tool ?? ''} ${JSON.stringify(effect.arguments, null, 2)}`
  if (effect.kind === 'commit') return `${effect.paths?.join('\n') ?? ''}\n\n${effect.message ?? ''}`
  if (effect.diff !== undefined && effect.diff !== '') return effect.diff
  return effect.change?.do?.actions.map(({ kind, path }) => `${kind} ${path}`).join('\n') ?? JSON.stringify(effect.change ?? effect, null, 2)
}

/**
 * Whether the person has to type the place before approving: for a change of files, for a command on another machine, for a command that
 * the model did not mark as one, and for a text with hidden or deceptive characters.
 */
export function isGrave (approval: Asked): boolean {
  const { effect } = approval
  const { hidden, mixed } = oddities(textOf(approval))
  return effect.kind === 'apply' || effect.host !== undefined || effect.origin === 'fallback' || hidden > 0 || mixed.length > 0
}

/** The sandbox and the network of a command in words. Without a sandbox nothing closes the network, whatever is set. */
export function jailOf ({ isHere, sandbox = '', network }: { readonly isHere: boolean, readonly sandbox?: string, readonly network?: boolean }): string {
  if (!isHere || sandbox === 'off') return `${t.sandboxNone}, ${t.networkOpen}`
  return `${t.sandboxOf(sandbox)}, ${network === false ? sandbox === 'auto' ? t.networkClosedInIt : t.networkClosed : t.networkOpen}`
}
