import type { paths } from '../../.build/api.d.ts'
import { api, take } from '../api/client.ts'

/** A terminal of the caller's own. */
export type Terminal = paths['/api/terminals']['get']['responses']['200']['content']['application/json']['terminals'][number]

/** A shell's state, as the service tells of it. */
export type TerminalState = NonNullable<Terminal['state']>

/** The size of a terminal until its screen tells another. */
export const FIRST_SIZE = { cols: 80, rows: 24 }

/** Opens one. @throws ApiError TARGET_NOT_FOUND, TERMINAL_UNSUPPORTED, TOO_MANY_TERMINALS, ROLE_MISSING */
export async function openTerminal (target: string): Promise<Terminal> {
  return await take(api.POST('/api/terminals', { body: { target, ...FIRST_SIZE } }))
}

/** Those that are open. @throws ApiError */
export async function listTerminals (): Promise<readonly Terminal[]> {
  return (await take(api.GET('/api/terminals', {}))).terminals.filter(({ state }) => state !== 'closed')
}

/** Ends one, and what runs in it. @throws ApiError */
export async function closeTerminal (id: string): Promise<void> {
  await take(api.DELETE('/api/terminals/{id}', { params: { path: { id } } }))
}
