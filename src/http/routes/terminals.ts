import { type ErrorCode } from '../../base/errors.ts'
import { Type } from '../../schema/builder.ts'
import { MAX_SIDE, USUAL_SIZE } from '../../exec/executor.ts'
import { type Service } from '../../service.ts'
import { type TerminalRow } from '../../service/sessions/terminal-service.ts'
import { type App } from '../app.ts'
import { oneOf } from '../schemas.ts'

const TerminalId = Type.Object({ id: Type.String({ maxLength: 512, description: '`terminalId`', examples: ['0123456789abcdef0123456789abcdef'] }) })

const side = (what: string) => Type.Optional(Type.Integer({ minimum: 1, maximum: MAX_SIDE, description: `How many ${what} it shows` }))

const OpenBody = Type.Object({
  target: Type.String({ minLength: 1, maxLength: 64, description: 'A target of the operator\'s file that has `terminal: true`', examples: ['shop'] }),
  cols: side('columns, 80 by default'),
  rows: side('lines, 24 by default')
}, { examples: [{ target: 'shop', cols: 120, rows: 32 }] })

const Terminal = Type.Object({
  terminalId: Type.String({ description: 'Of the session that it is; skills are started in it with this as `terminalSessionId`' }),
  target: Type.String(),
  state: Type.Optional(oneOf(['opening', 'prompt', 'typing', 'busy', 'command', 'closed'], { description: '`command`: a skill\'s command runs. Left out where another process holds it' })),
  at: Type.Optional(Type.String({ description: 'Where the process is reached that holds it, if it is not this one and its operator says so' })),
  createdAt: Type.String({ format: 'date-time' })
})

const OPENS: readonly ErrorCode[] = [
  'TARGET_NOT_FOUND', 'TERMINAL_UNSUPPORTED', 'TOO_MANY_TERMINALS', 'TERMINAL_FAILED', 'TOO_MANY_SESSIONS', 'SESSIONS_UNAVAILABLE'
]

const Page = Type.Object({ terminals: Type.Array(Terminal) })

/** Keys and output go over `/ws`. */
export function terminalRoutes (app: App, { terminals }: Pick<Service, 'terminals'>): void {
  app.post('/api/terminals', {
    config: { role: 'terminal', fails: OPENS },
    schema: { tags: ['Terminals'], operationId: 'openTerminal', summary: 'Open a terminal', description: 'Waits for its first prompt. Keys and output go over `/ws`, with `terminal_attach`.', body: OpenBody, response: { 201: Terminal } }
  }, async ({ caller, body: { target, cols = USUAL_SIZE.cols, rows = USUAL_SIZE.rows } }, reply) => {
    const row = await terminals.open(caller, target, { cols, rows })
    return await reply.code(201).header('location', `/api/sessions/${row.terminalId}`).send(describe(row))
  })

  app.get('/api/terminals', {
    config: { role: 'terminal', fails: ['SESSIONS_UNAVAILABLE'] },
    schema: { tags: ['Terminals'], operationId: 'listTerminals', summary: 'List your open terminals, the newest first', response: { 200: Page } }
  }, async ({ caller }) => ({ terminals: (await terminals.list(caller)).map(describe) }))

  app.delete('/api/terminals/:id', {
    config: { role: 'terminal', fails: ['TERMINAL_NOT_FOUND', 'SESSIONS_UNAVAILABLE'] },
    schema: { tags: ['Terminals'], operationId: 'endTerminal', summary: 'End a terminal of yours', description: 'With all that runs in it.', params: TerminalId, response: { 200: Terminal } }
  }, async ({ caller, params }) => describe(await terminals.end(caller, params.id)))
}

function describe ({ createdAt, ...row }: TerminalRow) {
  return { ...row, createdAt: new Date(createdAt).toISOString() }
}
