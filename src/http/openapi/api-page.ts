import helmet from '@fastify/helmet'
import swaggerUi from '@fastify/swagger-ui'
import { type App } from '../base/app-types.ts'

/**
 * Adds the page at `/docs` to read and try the API. The page may run only its own scripts and call only this service, even
 * if the texts of registered entries contain scripts. See https://github.com/fastify/fastify-helmet.
 */
export async function showApi (app: App): Promise<void> {
  await app.register(async page => {
    await page.register(helmet, {
      contentSecurityPolicy: {
        useDefaults: false,
        directives: {
          defaultSrc: ["'none'"],
          scriptSrc: ["'self'"],
          // Inline styles are allowed, since Swagger UI sets styles on its elements.
          styleSrc: ["'self'", "'unsafe-inline'"],
          imgSrc: ["'self'", 'data:'],
          connectSrc: ["'self'"],
          baseUri: ["'none'"],
          formAction: ["'none'"],
          frameAncestors: ["'none'"]
        }
      },
      // Only the proxy in front of the service knows whether clients use TLS, so the service does not demand it.
      strictTransportSecurity: false
    })
    await page.register(swaggerUi, { routePrefix: '/docs', logLevel: 'warn' })
  })
}
