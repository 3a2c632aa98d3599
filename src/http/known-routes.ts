import { type FastifyInstance } from 'fastify'

/** Gives the methods that routes have for a path. */
export type MethodsOf = (path: string) => readonly string[]

/** Remembers the routes that are registered from now on, for who asks for one with another method, or nearly. */
export function rememberRoutes (app: FastifyInstance): MethodsOf {
  const routes: Array<{ readonly method: string, readonly pattern: RegExp }> = []
  app.addHook('onRoute', ({ method, url }) => {
    const pattern = new RegExp(`^${url.replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replace(/:\w+/g, '[^/]+')}$`)
    for (const each of [method].flat()) if (each !== 'HEAD') routes.push({ method: each, pattern })
  })
  return path => [...new Set(routes.filter(({ pattern }) => pattern.test(path)).map(({ method }) => method))].sort()
}
