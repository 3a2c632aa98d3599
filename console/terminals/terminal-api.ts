import type { paths } from '../../.build/api.d.ts'
import { api, take } from '../api/client.ts'

/** A terminal of the caller, as the service describes it. */
export type Terminal = paths['/api/terminals']['get']['responses']['200']['content']['application/json']['terminals'][number]

/** The state of a terminal's shell, as the service names it. */
export type TerminalState = NonNullable<Terminal['state']>

/** The size of a new terminal, in characters, until the page has measured the room for its screen. */
export const FIRST_SIZE = { cols: 80, rows: 24 }

/** Opens a terminal on a target. @throws ApiError TARGET_NOT_FOUND, TERMINAL_UNSUPPORTED, TOO_MANY_TERMINALS, ROLE_MISSING */
export async function openTerminal (target: string): Promise<Terminal> {
  return await take(api.POST('/api/terminals', { body: { target, ...FIRST_SIZE } }))
}

/** Lists the open terminals of the caller. @throws ApiError */
export async function listTerminals (): Promise<readonly Terminal[]> {
  return (await take(api.GET('/api/terminals', {}))).terminals.filter(({ state }) => state !== 'closed')
}

/** Ends a terminal, and all that runs in it. @throws ApiError */
export async function closeTerminal (id: string): Promise<void> {
  await take(api.DELETE('/api/terminals/{id}', { params: { path: { id } } }))
}
