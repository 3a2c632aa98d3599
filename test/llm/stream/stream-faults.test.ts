import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import OpenAI, { APIError } from 'openai'
import { createModelClient } from '../../helpers/model-client.ts'
import { followScript, readScripts, type Script, timeoutsFor } from '../../helpers/upstream-script.ts'
import { startUpstream } from '../../helpers/upstream-server.ts'
import { openFrontDoor } from '../front-door.ts'

interface Expected {
  readonly hits: number
  /** What the client reads before the end. */
  readonly text?: string
  /** Why the stream ends with an error event. */
  readonly cut?: string
  /** What is added to the upstream's bytes. */
  readonly added?: string
  /** The bytes that reach the client, where they are not just the upstream's. */
  readonly sent?: string
  readonly n?: number
  readonly status?: number
  readonly code?: string
  readonly reason?: string
  /** The type of the error event, where the upstream has given one. */
  readonly type?: string
}

const KEY = 'sk-test-key'
const CUT = "The model's answer was cut short: "

/** An upstream that follows a script, our client, and a service over it. */
async function open (t: TestContext, script: Script<Expected>) {
  const upstream = await startUpstream(followScript(script.replies))
  const client = createModelClient({
    baseUrl: upstream.baseUrl,
    apiKey: KEY,
    timeouts: timeoutsFor(script.replies),
    retry: { delays: [100, 300], wait: async () => {} }
  })
  const door = await openFrontDoor(client)
  t.after(async () => {
    await upstream.close()
    await client.close()
    await door.close()
  })
  const request = { model: 'gpt-4.1', messages: [{ role: 'user' as const, content: 'Hi' }], stream: true as const, n: script.expected.n ?? 1 }
  return { upstream, door, request }
}

/** What the official client reads: the text up to the end, and the error that it raises. */
async function readOfficially (baseURL: string, request: OpenAI.ChatCompletionCreateParamsStreaming) {
  let text = ''
  try {
    const chunks = await new OpenAI({ baseURL, apiKey: 'sk-caller' }).chat.completions.create(request)
    for await (const chunk of chunks) text += chunk.choices[0]?.delta.content ?? ''
    return { text }
  } catch (error) {
    return { text, error }
  }
}

async function readBytes (baseURL: string, request: object): Promise<string> {
  const response = await fetch(`${baseURL}/chat/completions`, { method: 'POST', body: JSON.stringify(request) })
  return Buffer.from(await response.arrayBuffer()).toString('utf8')
}

function sentBy (script: Script<Expected>): string {
  const pieces = script.replies.at(-1)?.pieces ?? []
  return Buffer.concat(pieces.map(piece => typeof piece === 'string' ? Buffer.from(piece) : 'hex' in piece ? Buffer.from(piece.hex, 'hex') : Buffer.alloc(0))).toString('utf8')
}

describe('a stream, read with the official client', () => {
  for (const script of readScripts<Expected>('stream')) {
    const { expected } = script
    it(`tells the truth about ${script.title}`, async t => {
      const { upstream, door, request } = await open(t, script)
      const { text, error } = await readOfficially(door.baseUrl, request)

      assert.equal(upstream.hits.length, expected.hits)
      assert.equal(text, expected.text ?? '')
      if (expected.cut === undefined && expected.status === undefined) {
        assert.equal(error, undefined)
        return
      }
      assert.ok(error instanceof APIError, String(error))
      assert.equal(error.status, expected.status)
      assert.equal(error.code, expected.code ?? 'LLM_UPSTREAM')
      assert.ok(error.message.includes(expected.cut === undefined ? expected.reason ?? '' : CUT + expected.cut), error.message)
    })
  }
})

describe('the bytes of a stream', () => {
  const scripts = readScripts<Expected>('stream')
  for (const script of scripts.filter(({ expected }) => expected.status === undefined && expected.cut === undefined)) {
    it(`are those of the upstream for ${script.title}`, async t => {
      const { door, request } = await open(t, script)
      assert.equal(await readBytes(door.baseUrl, request), script.expected.sent ?? sentBy(script) + (script.expected.added ?? ''))
    })
  }

  for (const script of scripts.filter(({ expected }) => expected.cut !== undefined)) {
    it(`end with one error event and no [DONE] for ${script.title}`, async t => {
      const { door, request } = await open(t, script)
      const events = (await readBytes(door.baseUrl, request)).split('\n\n')
      const last = JSON.parse(events.at(-2)?.slice('data: '.length) ?? '') as { error: { message: string, type: string, code: string } }
      assert.equal(events.at(-1), '')
      assert.equal(last.error.type, script.expected.type ?? 'upstream_error')
      assert.equal(last.error.code, 'LLM_UPSTREAM')
      assert.equal(events.filter(event => event.includes('"error"')).length, 1)
      assert.ok(!events.some(event => event.includes('[DONE]')))
    })
  }
})
