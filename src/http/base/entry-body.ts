import { type FastifyRequest } from 'fastify'
import { type Json } from '../../base/json.ts'
import { type App } from './app-types.ts'
import { decodeText, parseJsonText } from './json-body.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The JSON text of the body for the store: a JSON body exactly as it came, a text body as a JSON string. */
    entryText: string
  }
}

/**
 * Reads the bodies of published entries. The text of a JSON body is kept as its publisher wrote it; plain text is stored as
 * a JSON string, so that a text such as `{}` or `1` is not mistaken for JSON.
 */
export function readEntryBodies (app: App): void {
  app.decorateRequest('entryText', '')
  app.removeContentTypeParser('application/json')
  app.addContentTypeParser<Buffer>('application/json', { parseAs: 'buffer' }, async (request: FastifyRequest, body: Buffer) => {
    request.entryText = decodeText(body)
    // A DELETE may declare a JSON body and send none.
    return body.length === 0 && request.method === 'DELETE' ? null : parseJsonText(request.entryText)
  })
  app.addContentTypeParser<Buffer>('text/plain', { parseAs: 'buffer' }, async (request: FastifyRequest, body: Buffer): Promise<Json> => {
    const text = decodeText(body)
    request.entryText = JSON.stringify(text)
    return text
  })
}
