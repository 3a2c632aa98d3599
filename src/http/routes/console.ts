import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import serveFiles from '@fastify/static'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { routeNotFound } from '../../base/errors.ts'
import type { App } from '../app.ts'
import { pathOf } from '../error-replies.ts'

/** The folder of the built console (the web page at `/console/`), found from the package's folder, wherever this module runs from. */
const CONSOLE_FOLDER = join(packageFolder(fileURLToPath(import.meta.url)), 'dist', 'console')

/**
 * The mark in the page's HTML that is replaced by the nonce, a random text for each request. The browser uses a style element only if it
 * carries the nonce.
 */
const PLACE_OF_NONCE = /%NONCE%/g

let page: Promise<string> | undefined

/** The console's page for one request. Its headers forbid the page everything that it does not need. */
interface ConsolePage {
  readonly html: string
  readonly headers: Readonly<Record<string, string>>
}

/**
 * Makes the console's page for one request. The file of the page is read at the first request, because most services are used by programs
 * only and never show the console.
 * @throws Error of reading the file, when the console was not built
 */
async function makeConsolePage (): Promise<ConsolePage> {
  page ??= readFile(join(CONSOLE_FOLDER, 'index.html'), 'utf8').catch((error: unknown) => {
    page = undefined
    throw error
  })
  const nonce = randomBytes(16).toString('base64')
  return { html: (await page).replace(PLACE_OF_NONCE, nonce), headers: headersWith(nonce) }
}

/** The headers of the page. The nonce allows the style element that the text editor adds to the page: https://www.w3.org/TR/CSP3/#security-nonces */
function headersWith (nonce: string): ConsolePage['headers'] {
  return {
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-store',
    'content-security-policy': `default-src 'none'; script-src 'self'; style-src 'self' 'nonce-${nonce}'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'`,
    'cross-origin-opener-policy': 'same-origin',
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff'
  }
}

/** The nearest folder above a path that has a `package.json`. */
function packageFolder (path: string): string {
  const folder = dirname(path)
  return existsSync(join(folder, 'package.json')) || folder === path ? folder : packageFolder(folder)
}

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
