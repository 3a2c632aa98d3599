import { channel } from 'node:diagnostics_channel'
import { type FastifyInstance, type RouteOptions } from 'fastify'

/** A route as it was registered. */
export type RegisteredRoute = Pick<RouteOptions, 'method' | 'url'> & { readonly config: RouteOptions['config'] | undefined }

/** All routes of the service that `start` makes, whoever registers them. */
export async function routesOf (start: () => Promise<unknown>): Promise<readonly RegisteredRoute[]> {
  const routes: RegisteredRoute[] = []
  const listen = (message: unknown) => {
    (message as { fastify: FastifyInstance }).fastify.addHook('onRoute', ({ method, url, config }) => { routes.push({ method, url, config }) })
  }
  const created = channel('fastify.initialization')
  created.subscribe(listen)
  try {
    await start()
  } finally {
    created.unsubscribe(listen)
  }
  return routes
}
