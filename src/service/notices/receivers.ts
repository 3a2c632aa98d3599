import { createHmac } from 'node:crypto'
import type { NoticeReceiver } from '../../config/operator.ts'
import { type Json, stringifyJson } from '../../base/json.ts'
import { beginningOf } from '../../base/text.ts'
import { undici } from '../../runtime/http-modules.ts'
import type { HttpAgent } from '../../tool/connections.ts'
import { unreachable } from '../../tool/tool-error.ts'

/** As it is kept until every receiver has it: it has no secret, and no words of prompts unless `LOG_VALUES` allows them. */
export interface NoticeContent {
  readonly type: string
  /** In ms since 1970. */
  readonly at: number
  /** For people, in one line. */
  readonly words: string
  /** A page of the console. */
  readonly link: string
  readonly data: Readonly<Record<string, Json | undefined>>
}

export interface Sent {
  /** Left out where nobody has answered. */
  readonly status?: number
  /** Left out where the receiver has it. */
  readonly problem?: string | undefined
  /** Its own words about that. */
  readonly quote?: string | undefined
  readonly milliseconds: number
}

/** For all of an attempt, in ms. */
const PATIENCE = 10_000

/** Of an answer, in bytes. */
const MAX_ANSWER = 65_536

/** Of an answer that is no success, in characters. */
const MAX_QUOTE = 200

/** The egress rules count at each attempt, and a redirect is a failure: it could lead around them. */
export async function sendNotice (
  { url, format, secrets }: NoticeReceiver,
  agent: HttpAgent,
  { id, ...content }: NoticeContent & { readonly id: string },
  closing: AbortSignal,
  now: number,
  patience = PATIENCE
): Promise<Sent> {
  const began = performance.now()
  const { origin, pathname, search } = new URL(url)
  const { type, at, data, link } = content
  const body = format === 'slack' ? slackOf(content) : stringifyJson({ type, timestamp: new Date(at).toISOString(), data: { ...data, link } })
  const timestamp = Math.floor(now / 1000)
  const signed = secrets.map(secret => `v1,${createHmac('sha256', secret).update(`${id}.${timestamp}.${body}`).digest('base64')}`).join(' ')
  const headers = format === 'slack' ? {} : { 'webhook-id': id, 'webhook-timestamp': String(timestamp), 'webhook-signature': signed }
  const attempt = new AbortController()
  const end = (): void => { attempt.abort() }
  const timer = setTimeout(end, patience)
  closing.addEventListener('abort', end)
  const spent = (): number => Math.round(performance.now() - began)
  try {
    const { statusCode: status, body: answer } = await undici.request().call(await agent.get(), {
      origin,
      path: `${pathname}${search}`,
      method: 'POST',
      headers: { 'content-type': 'application/json', 'user-agent': 'ai-prompt-shell', 'accept-encoding': 'identity', ...headers },
      body,
      signal: attempt.signal
    })
    const isOk = status >= 200 && status < 300
    const quote = await readWords(answer).catch(() => '') || undefined
    const what = status >= 300 && status < 400 ? `answered with a redirect (${status}), which is not followed` : `answered with status ${status}`
    return isOk ? { status, milliseconds: spent() } : { status, problem: what, quote, milliseconds: spent() }
  } catch (error) {
    return { problem: attempt.signal.aborted ? `had not answered after ${patience} ms` : unreachable(error).summary, milliseconds: spent() }
  } finally {
    clearTimeout(timer)
    closing.removeEventListener('abort', end)
  }
}

async function readWords (answer: AsyncIterable<Buffer> & { destroy (): unknown }): Promise<string> {
  let text = ''
  try {
    for await (const chunk of answer) {
      text += chunk.toString()
      if (text.length > MAX_ANSWER) break
    }
  } finally {
    answer.destroy()
  }
  return text.trimStart().startsWith('<') ? '' : beginningOf(text.replaceAll(/\s+/g, ' ').trim(), MAX_QUOTE).toWellFormed()
}

/** https://docs.slack.dev/messaging/formatting-message-text: three characters are escaped. */
function slackOf ({ words, link }: Omit<NoticeContent, 'id'>): string {
  return stringifyJson({ text: `${words.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')} <${link}|Open>` })
}
