import { join } from 'node:path'
import serveFiles from '@fastify/static'
import { type FastifyReply, type FastifyRequest } from 'fastify'
import { routeNotFound } from '../../base/errors.ts'
import { type App } from '../base/app-types.ts'
import { pathOf } from '../base/known-routes.ts'
import { CONSOLE_FOLDER, makeConsolePage } from './console-page.ts'

/**
 * The routes of the console: one page for every address below `/console/`, with its scripts and styles, whose names contain a hash of their
 * content. `GET /` redirects browsers to the console, and so does `/examples/term.html`, the address of an earlier page for trying skills.
 * The page calls the API as any client does, with a token of its user.
 */
export function consoleRoutes (app: App): void {
  app.register(serveFiles, {
    root: join(CONSOLE_FOLDER, 'assets'),
    prefix: '/console/assets/',
    decorateReply: false,
    preCompressed: true,
    immutable: true,
    maxAge: '365d',
    index: false,
    schemaHide: true,
    logLevel: 'warn',
    setHeaders: reply => { reply.header('x-content-type-options', 'nosniff') }
  })
  const options = { logLevel: 'warn', schema: { hide: true } } as const
  app.get('/', options, (request, reply) => wantsPage(request) ? reply.redirect('/console/') : refuse(request))
  app.get('/console', options, (_request, reply) => reply.redirect('/console/'))
  app.get('/console/*', options, showPage)
  // The part after `#` in the old address names a session. Browsers keep that part when they follow the redirect:
  // https://www.rfc-editor.org/rfc/rfc9110#section-10.2.2
  app.get('/examples/term.html', options, (_request, reply) => reply.redirect('/console/sessions/new?of=skills/', 308))
}

async function showPage (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const page = await makeConsolePage().catch(() => refuse(request))
  return await reply.headers(page.headers).send(page.html)
}

/** Whether a client accepts HTML, as browsers do. Other programs get 404 at `/`. */
function wantsPage ({ headers: { accept } }: FastifyRequest): boolean {
  return accept?.includes('text/html') === true
}

function refuse (request: FastifyRequest): never {
  throw routeNotFound(request.method, pathOf(request))
}
