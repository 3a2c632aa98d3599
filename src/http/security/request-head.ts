import { type IncomingMessage } from 'node:http'
import { charsetUnsupported, encodingUnsupported, expectationUnknown, requestInvalid, type ServiceError } from '../../base/errors.ts'
import { type App } from '../base/app-types.ts'

/** The accepted charsets: UTF-8, and ASCII as a part of it. */
const UTF_8 = new Set(['utf-8', 'utf8', 'us-ascii', 'ascii'])

/**
 * Refuses requests with a wrong head by an error in the service's form, where Node would refuse them without an explanation, and bodies
 * whose charset or encoding is unsupported. Node's `requireHostHeader` must be off, since the check is made here.
 */
export function checkRequestHeads (app: App): void {
  app.server.on('checkExpectation', (request, response) => { app.server.emit('request', request, response) })
  app.addHook('onRequest', (request, _reply, done) => done(whatIsWrong(request.raw)))
}

function whatIsWrong (request: IncomingMessage): ServiceError | undefined {
  const { headers: { expect, 'content-encoding': encoding = 'identity', 'content-type': type = '' } } = request
  const wrongHost = whatIsWrongWithHost(request)
  if (wrongHost !== undefined) return requestInvalid(wrongHost, { part: 'headers' })
  if (encoding.toLowerCase() !== 'identity') return encodingUnsupported(encoding)
  const [, charset = 'utf-8'] = /;\s*charset\s*=\s*"?([^\s;"]+)/i.exec(type) ?? []
  if (!UTF_8.has(charset.toLowerCase())) return charsetUnsupported(charset)
  // `100-continue` is the only expectation that HTTP defines; Node has answered it by now.
  return expect === undefined || /\b100-continue\b/i.test(expect) ? undefined : expectationUnknown()
}

/**
 * What is wrong with the host of a request: it is missing, given twice, or another one than in the URL; `undefined` when nothing is wrong.
 * A proxy could read another host from such a request than this service does: https://www.rfc-editor.org/rfc/rfc9112#section-3.2
 */
function whatIsWrongWithHost ({ httpVersion, headers: { host }, rawHeaders, url = '' }: IncomingMessage): string | undefined {
  if (host === undefined && httpVersion === '1.1') return 'headers: host is missing'
  if (countHosts(rawHeaders) > 1) return 'headers: host is there more than once'
  if (url.startsWith('/') || url === '*') return undefined
  const target = /^https?:\/\/([^/?#]*)/i.exec(url)?.[1]
  return target === undefined || target.toLowerCase() === host?.toLowerCase() ? undefined : 'headers: host is another one than in the URL'
}

/** Counts the Host headers of a request: Node's `headers` has the first one only. */
function countHosts (rawHeaders: readonly string[]): number {
  let count = 0
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] as string
    if (name.length === 4 && name.toLowerCase() === 'host') count++
  }
  return count
}
