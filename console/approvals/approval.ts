import type { paths } from '../../.build/api.d.ts'
import { oddities } from '../parts/oddities.ts'

export type ApprovalReply = paths['/api/approvals/{id}']['get']['responses']['200']['content']['application/json']

/** What would be done, as far as a card shows it. */
export interface Effect {
  readonly kind: 'exec' | 'tool' | 'apply' | 'commit' | (string & {})
  readonly command?: string
  readonly target?: string
  readonly folder?: string
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
  readonly checks?: readonly string[]
  /** The files and the message of a commit. */
  readonly paths?: readonly string[]
  readonly message?: string
  /** The terminal in whose shell it runs. */
  readonly terminal?: string
}

/** What is asked about. */
export interface Asked extends Omit<ApprovalReply, 'effect'> { readonly effect: Effect }

export const asked = (reply: ApprovalReply): Asked => reply as Asked

/** Where it would be done, as whoever decides types it. */
export function placeOf ({ effect }: Asked): string {
  return effect.target ?? effect.workspace ?? effect.tool ?? effect.kind
}

/** What is agreed to, as one text. */
export function textOf ({ effect }: Asked): string {
  if (effect.command !== undefined) return effect.command
  if (effect.kind === 'tool') return `${effect.tool ?? ''} ${JSON.stringify(effect.arguments, null, 2)}`
  if (effect.kind === 'commit') return `${effect.paths?.join('\n') ?? ''}\n\n${effect.message ?? ''}`
  return effect.change?.do?.actions.map(({ kind, path }) => `${kind} ${path}`).join('\n') ?? JSON.stringify(effect.change ?? effect, null, 2)
}

/** Whether its place has to be typed: on another machine, with what deceives, of what nobody had proposed in its form, and of what deletes. */
export function isGrave (approval: Asked): boolean {
  const { effect } = approval
  const { hidden, mixed } = oddities(textOf(approval))
  return effect.kind === 'apply' || effect.host !== undefined || effect.origin === 'fallback' || hidden > 0 || mixed.length > 0
}
