import helmet from '@fastify/helmet'
import swaggerUi from '@fastify/swagger-ui'
import { type App } from '../base/app-types.ts'

/**
 * The page at `/docs` to read and try the API. It runs its own scripts only and speaks with this service only, whatever
 * a registration's texts may hold. See https://github.com/fastify/fastify-helmet.
 */
export async function showApi (app: App): Promise<void> {
  await app.register(async page => {
    await page.register(helmet, {
      contentSecurityPolicy: {
        useDefaults: false,
        directives: {
          defaultSrc: ["'none'"],
          scriptSrc: ["'self'"],
          // Swagger UI sets styles on its elements.
          styleSrc: ["'self'", "'unsafe-inline'"],
          imgSrc: ["'self'", 'data:'],
          connectSrc: ["'self'"],
          baseUri: ["'none'"],
          formAction: ["'none'"],
          frameAncestors: ["'none'"]
        }
      },
      // Whether the service is reached over TLS is for what stands in front of it to know.
      strictTransportSecurity: false
    })
    await page.register(swaggerUi, { routePrefix: '/docs', logLevel: 'warn' })
  })
}
