import { type App } from '../base/app-types.ts'

/** The reply headers that a page of another origin may read. */
const EXPOSED = ['etag', 'link', 'retry-after', 'x-prompt-label', 'x-prompt-revision', 'x-prompt-version', 'x-registry-revision', 'x-request-id',
  'x-should-retry', 'x-usage-estimate',
  ...['requests', 'tokens'].flatMap(rated => [`x-ratelimit-limit-${rated}`, `x-ratelimit-remaining-${rated}`, `x-ratelimit-reset-${rated}`])]

/**
 * Lets pages of the given origins call the service, with a token that the pages send; cookies are never accepted. The pages may send any
 * header, since OpenAI's client adds a dozen of its own. Without origins no CORS headers are sent, and browsers let no page of another
 * origin read an answer.
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
