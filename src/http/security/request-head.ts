import { type IncomingMessage } from 'node:http'
import { charsetUnsupported, encodingUnsupported, expectationUnknown, requestInvalid, type ServiceError } from '../../base/errors.ts'
import { type App } from '../base/app-types.ts'

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

function whatIsWrong (request: IncomingMessage): ServiceError | undefined {
  const { headers: { expect, 'content-encoding': encoding = 'identity', 'content-type': type = '' } } = request
  const wrongHost = whatIsWrongWithHost(request)
  if (wrongHost !== undefined) return requestInvalid(wrongHost, { part: 'headers' })
  if (encoding.toLowerCase() !== 'identity') return encodingUnsupported(encoding)
  const [, charset = 'utf-8'] = /;\s*charset\s*=\s*"?([^\s;"]+)/i.exec(type) ?? []
  if (!UTF_8.has(charset.toLowerCase())) return charsetUnsupported(charset)
  // The one that there is, which Node has met by now.
  return expect === undefined || /\b100-continue\b/i.test(expect) ? undefined : expectationUnknown()
}

/** Whoever reads another host than we do, such as a proxy, must not take this for a request to somebody else: https://www.rfc-editor.org/rfc/rfc9112#section-3.2 */
function whatIsWrongWithHost ({ httpVersion, headers: { host }, rawHeaders, url = '' }: IncomingMessage): string | undefined {
  if (host === undefined && httpVersion === '1.1') return 'headers: host is missing'
  if (countHosts(rawHeaders) > 1) return 'headers: host is there more than once'
  if (url.startsWith('/') || url === '*') return undefined
  const target = /^https?:\/\/([^/?#]*)/i.exec(url)?.[1]
  return target === undefined || target.toLowerCase() === host?.toLowerCase() ? undefined : 'headers: host is another one than in the URL'
}

/** Node gives the first one only. */
function countHosts (rawHeaders: readonly string[]): number {
  let count = 0
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] as string
    if (name.length === 4 && name.toLowerCase() === 'host') count++
  }
  return count
}
