import { type App } from '../base/app-types.ts'

/** Headers of replies that a page may read. */
const EXPOSED = ['etag', 'link', 'retry-after', 'x-prompt-label', 'x-prompt-revision', 'x-prompt-version', 'x-registry-revision', 'x-request-id', 'x-should-retry', 'x-usage-estimate',
  ...['requests', 'tokens'].flatMap(rated => [`x-ratelimit-limit-${rated}`, `x-ratelimit-remaining-${rated}`, `x-ratelimit-reset-${rated}`])]

/**
 * Lets pages of these origins call, with a token that they hold themselves: cookies are never taken. They may send any
 * header: OpenAI's client adds a dozen of its own. Without origins, nothing is said to browsers, and they keep pages of
 * others out.
 * See https://github.com/fastify/fastify-cors.
 */
export async function allowOrigins (app: App, origins: readonly string[]): Promise<void> {
  if (origins.length === 0) return
  const { default: cors } = await import('@fastify/cors')
  await app.register(cors, {
    origin: [...origins],
    methods: ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'],
    exposedHeaders: EXPOSED,
    // A plain OPTIONS is no preflight, and no mistake.
    strictPreflight: false,
    maxAge: 600
  })
}

/** The headers with which a page of these origins may read a reply that is made before Fastify has the request. */
export function corsHeaders (origins: readonly string[], origin: string | undefined): Readonly<Record<string, string>> {
  if (origin === undefined || !origins.includes(origin)) return {}
  return { 'access-control-allow-origin': origin, 'access-control-expose-headers': EXPOSED.join(', '), vary: 'Origin' }
}
