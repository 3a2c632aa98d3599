import { type IncomingHttpHeaders } from 'node:http'
import { type Readable } from 'node:stream'
import { ReplyCollector } from './collect-reply.ts'
import { EventRelay, type RelayedAs } from '../stream/event-relay.ts'
import { createFrameParser } from '../stream/frame.ts'
import { Exchange, type ReplyHead, type ReplyReceiver, type UpstreamRequest } from './exchange.ts'
import { badReply, statusError } from './judge-reply.ts'
import { type StreamEnd } from '../model-client.ts'
import { type Redact } from '../../base/redact.ts'
import { StreamJudge } from '../stream/stream-judge.ts'

/** The settings with which a streamed reply is read. */
export interface StreamTerms {
  readonly as: RelayedAs
  /** The number of choices that were asked for: the request's `n`. */
  readonly choices: number
  /** The greatest size of one event, in bytes. */
  readonly maxEventBytes: number
  readonly redact: Redact
  /** Called once when a stream that was opened is over. */
  readonly ended: (end: StreamEnd) => void
}

/** The greatest size of a reply that is no stream, in bytes. It is the body of an error, and those are small. */
const MAX_ERROR_BYTES = 1024 * 1024

/**
 * Sends a request for a streamed answer, and waits for the first event.
 * @returns the events, as `ModelStream` or `FrameStream` describes them
 * @throws UpstreamError or UpstreamRefusal while no event has been passed on; the reason of the request's signal
 */
export function openStream (request: UpstreamRequest, terms: StreamTerms): Promise<Readable> {
  return new Promise((resolve, reject) => {
    // eslint-disable-next-line no-new -- the exchange does its work in callbacks, so nobody needs the object
    new Exchange(request, new StreamOpener(terms, resolve, reject))
  })
}

/** Reads the head of a reply, and passes the rest on: a stream to an `EventRelay`, any other reply to a `ReplyCollector`. */
class StreamOpener implements ReplyReceiver {
  readonly #terms: StreamTerms
  readonly #resolve: (events: Readable) => void
  readonly #reject: (error: unknown) => void
  #receiver: ReplyReceiver | undefined

  constructor (terms: StreamTerms, resolve: (events: Readable) => void, reject: (error: unknown) => void) {
    this.#terms = terms
    this.#resolve = resolve
    this.#reject = reject
  }

  head (head: ReplyHead, exchange: Exchange): void {
    this.#receiver = isEventStream(head) ? this.#relay(exchange) : this.#collector()
    this.#receiver.head(head, exchange)
  }

  data (chunk: Buffer): boolean {
    return this.#receiver?.data(chunk) ?? true
  }

  end (): void {
    this.#receiver?.end()
  }

  fail (error: unknown): void {
    if (this.#receiver === undefined) this.#reject(error)
    else this.#receiver.fail(error)
  }

  #relay (exchange: Exchange): EventRelay {
    const { as, choices, redact, maxEventBytes, ended } = this.#terms
    const relay = new EventRelay(as, exchange, createFrameParser(maxEventBytes, redact), new StreamJudge(choices), {
      begun: () => this.#resolve(relay.events),
      failed: this.#reject,
      ended
    })
    return relay
  }

  #collector (): ReplyCollector {
    return new ReplyCollector(MAX_ERROR_BYTES, reply => {
      const isError = reply.status < 200 || reply.status > 299
      this.#reject(isError ? statusError(reply, this.#terms.redact) : badReply(reply, 'the reply is not an event stream', this.#terms.redact))
    }, this.#reject)
  }
}

function isEventStream ({ status, headers }: ReplyHead): boolean {
  return status >= 200 && status <= 299 && isEventStreamType(headers)
}

/**
 * Whether a reply can be a stream of events by its `content-type`. Some servers send none, which is accepted. Any other type means that the reply is
 * a page of HTML, or JSON.
 */
function isEventStreamType (headers: IncomingHttpHeaders): boolean {
  const type = headers['content-type']
  return type === undefined || /^\s*text\/event-stream\b/i.test(type)
}
