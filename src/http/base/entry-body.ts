import { type FastifyRequest } from 'fastify'
import { type Json } from '../../base/json.ts'
import { type App } from './app-types.ts'
import { decodeText, parseJsonText } from './json-body.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The JSON text that a body stands for, as it is to be stored: JSON exactly as it came. */
    entryText: string
  }
}

/**
 * Reads the bodies of what is published: JSON, whose text is kept as its publisher wrote it, and plain text, which is
 * stored as a JSON string, so that nobody mistakes it for anything else.
 */
export function readEntryBodies (app: App): void {
  app.decorateRequest('entryText', '')
  app.removeContentTypeParser('application/json')
  app.addContentTypeParser<Buffer>('application/json', { parseAs: 'buffer' }, async (request: FastifyRequest, body: Buffer) => {
    request.entryText = decodeText(body)
    // A removal may say that its body is JSON and have none.
    return body.length === 0 && request.method === 'DELETE' ? null : parseJsonText(request.entryText)
  })
  app.addContentTypeParser<Buffer>('text/plain', { parseAs: 'buffer' }, async (request: FastifyRequest, body: Buffer): Promise<Json> => {
    const text = decodeText(body)
    request.entryText = JSON.stringify(text)
    return text
  })
}
