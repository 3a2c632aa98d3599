import { type IncomingMessage } from 'node:http'
import { charsetUnsupported, encodingUnsupported, expectationUnknown, requestInvalid, type ServiceError } from '../base/errors.ts'
import { type App } from './app-types.ts'

/** What UTF-8 is called, and ASCII, which is a part of it. */
const UTF_8 = new Set(['utf-8', 'utf8', 'us-ascii', 'ascii'])

/**
 * Refuses in the one shape of errors what Node by itself would refuse without a word, and bodies that would be taken for
 * something else than they say they are; the server must not require a host.
 */
export function checkRequestHeads (app: App): void {
  app.server.on('checkExpectation', (request, response) => { app.server.emit('request', request, response) })
  app.addHook('onRequest', (request, _reply, done) => done(whatIsWrong(request.raw)))
}

function whatIsWrong ({ httpVersion, headers: { host, expect, 'content-encoding': encoding = 'identity', 'content-type': type = '' } }: IncomingMessage): ServiceError | undefined {
  // https://www.rfc-editor.org/rfc/rfc9112#section-3.2
  if (host === undefined && httpVersion === '1.1') return requestInvalid('headers: host is missing', { part: 'headers' })
  if (encoding.toLowerCase() !== 'identity') return encodingUnsupported(encoding)
  const [, charset = 'utf-8'] = /;\s*charset\s*=\s*"?([^\s;"]+)/i.exec(type) ?? []
  if (!UTF_8.has(charset.toLowerCase())) return charsetUnsupported(charset)
  // The one that there is, which Node has met by now.
  return expect === undefined || /\b100-continue\b/i.test(expect) ? undefined : expectationUnknown()
}
