import { useRef, useState } from 'react'
import { type Preview, type Tried } from '../api/preview.ts'
import { readStream } from '../api/stream.ts'
import { type Entry } from './entry.ts'

export interface Question {
  readonly isDraft: boolean
  readonly entry: Entry
  readonly tried: Tried
  /** Renders the draft, with calls of its tools; `undefined` if that fails. */
  readonly render: () => Promise<Preview | undefined>
}

/** The answer of a model, as far as it has come, and the functions that ask for it and stop it. */
export interface Answer {
  readonly text: string
  /** Messages about what happened before the answer, such as calls of tools. */
  readonly steps: readonly string[]
  readonly isBusy: boolean
  readonly isStopped: boolean
  readonly error: unknown
  readonly ask: (question: Question) => Promise<void>
  readonly stop: () => void
}

/** A piece of an answer, as far as the page shows it. */
interface Chunk {
  readonly choices?: ReadonlyArray<{
    readonly delta?: { readonly content?: string | ReadonlyArray<{ readonly type?: string, readonly text?: string }> | null, readonly refusal?: string | null }
    readonly finish_reason?: string | null
  }> | null
  readonly error?: { readonly message?: string } | string | boolean | null
}

/** The fields in a prompt's `defaults` that are settings of the service, not of a model. */
const OWN = new Set(['fallbacks', 'maxInputTokens', 'toolLoop'])

/**
 * Asks the model. For a stored prompt, the request names the prompt, as a caller's request does. A draft is rendered first, and the request
 * has the rendered messages.
 */
export function useAnswer (id: string): Answer {
  const [text, setText] = useState('')
  const [steps, setSteps] = useState<readonly string[]>([])
  const [isBusy, setBusy] = useState(false)
  const [isStopped, setStopped] = useState(false)
  const [error, setError] = useState<unknown>()
  const running = useRef<AbortController>(null)
  const ask = async (question: Question) => {
    running.current?.abort()
    const controller = running.current = new AbortController()
    setText('')
    setSteps([])
    setError(undefined)
    setStopped(false)
    setBusy(true)
    try {
      const asked = await requestOf(id, question, controller.signal)
      if (asked === undefined) return
      let said = ''
      await readStream(asked, ({ data }) => {
        if (data === '[DONE]') return
        const chunk = JSON.parse(data) as Chunk
        if (typeof chunk.error === 'object' && chunk.error !== null) throw new Error(chunk.error.message ?? '')
        const { delta, finish_reason: reason } = chunk.choices?.[0] ?? {}
        const content = delta?.content ?? ''
        said += typeof content === 'string' ? content : content.map(part => part.type === 'text' ? part.text ?? '' : '').join('')
        said += delta?.refusal ?? ''
        if (reason === 'length' || reason === 'content_filter') said += `… [${reason}]`
        setText(said)
      }, comment => { setSteps(before => [...before, comment]) })
    } catch (failure) {
      if (controller.signal.aborted) setStopped(true)
      else setError(failure)
    } finally {
      if (running.current === controller) setBusy(false)
    }
  }
  return { text, steps, isBusy, isStopped, error, ask, stop: () => { running.current?.abort() } }
}

async function requestOf (id: string, { isDraft, entry, tried, render }: Question, signal: AbortSignal): Promise<Request | undefined> {
  const post = (path: string, body: object) => new Request(path, {
    method: 'POST',
    signal,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body)
  })
  if (!isDraft) return post(`/api/chat/prompts/${encodeURIComponent(id)}`, { ...tried, stream: true })
  const rendered = (await render())?.rendered_prompt
  if (rendered === undefined) return undefined
  const defaults = Object.entries((entry.settings['defaults'] ?? {}) as Record<string, unknown>).filter(([name]) => !OWN.has(name))
  return post('/v1/chat/completions', {
    ...Object.fromEntries(defaults),
    messages: typeof rendered === 'string' ? [{ role: 'user', content: rendered }] : rendered,
    stream: true
  })
}
