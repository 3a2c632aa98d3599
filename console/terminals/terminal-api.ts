import { ApiError } from '../api/api-error.ts'
import { send } from '../api/client.ts'

/** A shell's state, as the service tells of it. */
export type TerminalState = 'opening' | 'prompt' | 'typing' | 'busy' | 'command' | 'closed'

/** A terminal of the caller's own. */
export interface Terminal {
  readonly terminalId: string
  readonly target: string
  /** Left out where another process holds it. */
  readonly state?: TerminalState
  readonly createdAt?: string
}

/** Where terminals are opened and listed; their keys and their output go over a socket alone. */
const ADDRESS = '/api/terminals'

/** Opens one. @throws ApiError TARGET_NOT_FOUND, TERMINAL_UNSUPPORTED, TOO_MANY_TERMINALS, ROLE_MISSING */
export async function openTerminal (target: string): Promise<Terminal> {
  const body = JSON.stringify({ target, cols: 80, rows: 24 })
  return await asked(new Request(ADDRESS, { method: 'POST', headers: { 'content-type': 'application/json' }, body })) as Terminal
}

/** Those that are open. @throws ApiError */
export async function listTerminals (): Promise<readonly Terminal[]> {
  const { terminals } = await asked(new Request(ADDRESS)) as { readonly terminals: readonly Terminal[] }
  return terminals.filter(({ state }) => state !== 'closed')
}

/** Ends one, and what runs in it. @throws ApiError */
export async function closeTerminal (id: string): Promise<void> {
  await asked(new Request(`${ADDRESS}/${encodeURIComponent(id)}`, { method: 'DELETE' }))
}

async function asked (request: Request): Promise<unknown> {
  const response = await send(request)
  const body: unknown = await response.json().catch(() => ({}))
  if (!response.ok) throw new ApiError(response.status, body)
  return body
}
