import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import serveFiles from '@fastify/static'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { routeNotFound } from '../../base/errors.ts'
import type { Access, SignIn } from '../access.ts'
import type { App } from '../app.ts'
import { pathOf } from '../error-replies.ts'

/** Found from the package's folder, wherever this module runs from. */
const CONSOLE_FOLDER = join(packageFolder(fileURLToPath(import.meta.url)), 'dist', 'console')

/** Replaced by what the console needs to sign its user in, if anything. */
const PLACE_OF_SIGN_IN = '%SIGN_IN%'

/** Replaced by a random nonce for each request; the browser uses a style element only if it carries the nonce. */
const PLACE_OF_NONCE = /%NONCE%/g

let page: Promise<string> | undefined

/** Read at the first request: most services never show the console. @throws Error when the console was not built */
async function makeConsolePage (signIn: SignIn | undefined) {
  page ??= readFile(join(CONSOLE_FOLDER, 'index.html'), 'utf8').catch((error: unknown) => {
    page = undefined
    throw error
  })
  const nonce = randomBytes(16).toString('base64')
  const told = signIn === undefined || signIn.client === '' ? undefined : describeSignIn(signIn)
  const html = (await page).replace(PLACE_OF_NONCE, nonce).replace(PLACE_OF_SIGN_IN, () => told === undefined ? '' : escaped(JSON.stringify(told)))
  return { html, headers: headersWith(nonce, told?.token) }
}

/** The addresses are empty while the provider is away. */
function describeSignIn ({ client, issuer, scopes, resource, holders: { provider } }: SignIn) {
  const [authorize, token] = [provider.address('authorization_endpoint'), provider.address('token_endpoint')]
  return { client, issuer, scope: scopes.join(' '), resource, authorize, token, end: provider.address('end_session_endpoint') }
}

/** For an attribute between double quotes. */
function escaped (text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;')
}

/** The nonce allows the style element of the text editor: https://www.w3.org/TR/CSP3/#security-nonces */
function headersWith (nonce: string, token = '') {
  const others = token === '' ? '' : ` ${new URL(token).origin}`
  return {
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-store',
    'content-security-policy': `default-src 'none'; script-src 'self'; style-src 'self' 'nonce-${nonce}'; connect-src 'self'${others}; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'`,
    'cross-origin-opener-policy': 'same-origin',
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff'
  }
}

function packageFolder (path: string): string {
  const folder = dirname(path)
  return existsSync(join(folder, 'package.json')) || folder === path ? folder : packageFolder(folder)
}

/** One page for every address below `/console/`; it calls the API as any client does, with its user's token. */
export function consoleRoutes (app: App, access: Access): void {
  const signIn = access.mode === 'tokens' ? access.identities : undefined
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
  app.get('/console/*', options, (request, reply) => showPage(request, reply, signIn))
  // Browsers keep the old address's `#session`: https://www.rfc-editor.org/rfc/rfc9110#section-10.2.2
  app.get('/examples/term.html', options, (_request, reply) => reply.redirect('/console/sessions/new?of=skills/', 308))
}

async function showPage (request: FastifyRequest, reply: FastifyReply, signIn: SignIn | undefined): Promise<FastifyReply> {
  const page = await makeConsolePage(signIn).catch(() => refuse(request))
  return await reply.headers(page.headers).send(page.html)
}

function wantsPage ({ headers: { accept } }: FastifyRequest): boolean {
  return accept?.includes('text/html') === true
}

function refuse (request: FastifyRequest): never {
  throw routeNotFound(request.method, pathOf(request))
}
