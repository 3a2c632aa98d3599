import { pipeline, Readable } from 'node:stream'
import { brotliCompress, constants, createBrotliCompress, createGzip, gzip } from 'node:zlib'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { App } from './app.ts'

/** In bytes: what is shorter fits into one packet either way. */
const MIN_BYTES = 1024

/** Of server-sent events each has to arrive at once, and fonts, images and archives are compressed already. */
const COMPRESSIBLE = /^(?:application\/(?:[\w.+-]*\+)?json|text\/(?!event-stream))/

type Encoding = 'br' | 'gzip'

/** As fast as gzip, and a tenth smaller: https://github.com/google/brotli */
const BROTLI = { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } }

/**
 * Compresses the replies of the API for clients that accept it. Replies to renders, chats and turns stay as they are: they hold what a
 * stranger has written beside what the stranger may not read, and their compressed length would tell one by the other (https://breachattack.com).
 * A compressed reply has a weak ETag, since its bytes are others; conditions of requests take weak tags for strong ones.
 */
export function compressReplies (app: App): void {
  app.addHook('onSend', (request, reply, payload, done) => {
    const accepted = request.headers['accept-encoding']
    if ((accepted === undefined && request.method !== 'GET') || !mayCompress(request)) return done(null, payload)
    const encoding = encodingIn(accepted)
    if (reply.statusCode === 304 && encoding !== undefined) weakenTag(reply)
    if (!isCompressible(reply.getHeaders(), payload)) return done(null, payload)
    vary(reply)
    if (encoding === undefined) return done(null, payload)
    weakenTag(reply)
    reply.removeHeader('content-length').header('content-encoding', encoding)
    if (payload instanceof Readable) return done(null, compressedStream(payload, encoding))
    const send = (error: Error | null, bytes: Buffer): void => {
      if (error === null) done(null, bytes)
      else done(error)
    }
    if (encoding === 'br') brotliCompress(payload as string | Buffer, BROTLI, send)
    else gzip(payload as string | Buffer, send)
  })
}

function mayCompress ({ method, routeOptions: { config } }: FastifyRequest): boolean {
  return method === 'GET' || method === 'HEAD' || config.role === 'read' || config.role === 'write'
}

function isCompressible (headers: Readonly<Record<string, unknown>>, payload: unknown): boolean {
  if (headers['content-encoding'] !== undefined || headers['content-range'] !== undefined || !COMPRESSIBLE.test(String(headers['content-type']))) return false
  if (typeof payload === 'string' || Buffer.isBuffer(payload)) return Buffer.byteLength(payload) > MIN_BYTES
  return payload instanceof Readable && Number(headers['content-length'] ?? Infinity) > MIN_BYTES
}

function compressedStream (payload: Readable, encoding: Encoding): Readable {
  // An error of either destroys both, and the reply with them.
  return pipeline(payload, encoding === 'br' ? createBrotliCompress(BROTLI) : createGzip(), () => {})
}

function weakenTag (reply: FastifyReply): void {
  const tag = reply.getHeader('etag')
  if (typeof tag === 'string' && tag.startsWith('"')) reply.header('etag', `W/${tag}`)
}

function vary (reply: FastifyReply): void {
  const given = reply.getHeader('vary')
  reply.header('vary', given === undefined ? 'accept-encoding' : `${String(given)}, accept-encoding`)
}

/** The encoding that a client likes best; `undefined` for none. https://www.rfc-editor.org/rfc/rfc9110#section-12.5.3 */
function encodingIn (accepted: string | string[] | undefined): Encoding | undefined {
  if (accepted === undefined) return undefined
  const qualities = new Map<string, number>()
  for (const each of String(accepted).toLowerCase().split(',')) {
    const [coding = '', weight] = each.split(';', 2)
    const [, quality = '1'] = /^\s*q=([\d.]+)\s*$/.exec(weight ?? '') ?? []
    qualities.set(coding.trim(), Number(quality))
  }
  const qualityOf = (coding: string): number => qualities.get(coding) ?? qualities.get('*') ?? 0
  const [br, zip] = [qualityOf('br'), qualityOf('gzip')]
  if (Math.max(br, zip) === 0 || Math.max(br, zip) < (qualities.get('identity') ?? 0)) return undefined
  return br >= zip ? 'br' : 'gzip'
}
