import { type IncomingMessage } from 'node:http'
import { encodingUnsupported, expectationUnknown, requestInvalid, type ServiceError } from '../errors.ts'
import { type App } from './app-types.ts'

/** Refuses in the one shape of errors what Node by itself would refuse without a word; the server must not require a host. */
export function checkRequestHeads (app: App): void {
  app.server.on('checkExpectation', (request, response) => { app.server.emit('request', request, response) })
  app.addHook('onRequest', (request, _reply, done) => done(whatIsWrong(request.raw)))
}

function whatIsWrong ({ httpVersion, headers: { host, expect, 'content-encoding': encoding = 'identity' } }: IncomingMessage): ServiceError | undefined {
  // https://www.rfc-editor.org/rfc/rfc9112#section-3.2
  if (host === undefined && httpVersion === '1.1') return requestInvalid('headers: host is missing', { part: 'headers' })
  if (encoding.toLowerCase() !== 'identity') return encodingUnsupported(encoding)
  // The one that there is, which Node has met by now.
  return expect === undefined || /\b100-continue\b/i.test(expect) ? undefined : expectationUnknown()
}
