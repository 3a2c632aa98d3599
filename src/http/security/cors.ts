import { type App } from '../base/app-types.ts'

/** Headers of replies that a page may read. */
const EXPOSED = ['etag', 'link', 'retry-after', 'x-prompt-label', 'x-prompt-revision', 'x-prompt-version', 'x-registry-revision', 'x-request-id',
  'x-should-retry', 'x-usage-estimate',
  ...['requests', 'tokens'].flatMap(rated => [`x-ratelimit-limit-${rated}`, `x-ratelimit-remaining-${rated}`, `x-ratelimit-reset-${rated}`])]

/**
 * Lets pages of these origins call, with a token that they hold themselves: cookies are never taken. They may send any
 * header: OpenAI's client adds a dozen of its own. Without origins, no CORS headers are sent, and browsers keep pages of
 * other origins out.
 * See https://github.com/fastify/fastify-cors.
 */
export async function allowOrigins (app: App, origins: readonly string[]): Promise<void> {
  if (origins.length === 0) return
  const { default: cors } = await import('@fastify/cors')
  await app.register(cors, {
    origin: [...origins],
    methods: ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'],
    exposedHeaders: EXPOSED,
    // An OPTIONS request that is no preflight is not an error.
    strictPreflight: false,
    maxAge: 600
  })
}

/** The CORS headers for a reply that is sent before Fastify has the request, so that pages of these origins can read it. */
export function corsHeaders (origins: readonly string[], origin: string | undefined): Readonly<Record<string, string>> {
  if (origin === undefined || !origins.includes(origin)) return {}
  return { 'access-control-allow-origin': origin, 'access-control-expose-headers': EXPOSED.join(', '), vary: 'Origin' }
}
