import { useEffect, useRef, useState } from 'react'
import type { Preview, Tried } from '../../api/preview.ts'
import { readStream } from '../../api/stream.ts'
import { Told } from '../../parts/error-note.tsx'
import { t } from '../../text/text.ts'
import type { Entry } from '../entry.ts'
import { type AnswerState, BEGUN, type Chunk, withChunk } from './answer-state.ts'
import { type Column, parametersOf, queryOf } from './columns.ts'

/** What the columns ask about. */
export interface Question {
  readonly id: string
  /** Whether the text differs from what is stored: it is then rendered, and asked as it is. */
  readonly isDraft: boolean
  readonly entry: Entry
  readonly tried: Tried
  /** Renders the draft, with calls of its tools; `undefined` if that fails. */
  readonly render: () => Promise<Preview | undefined>
}

/** The settings in a prompt's `defaults` that the service follows only for a stored prompt. */
const OF_SERVICE = ['maxInputTokens', 'toolLoop']

/** Two names of one limit: one that is given replaces both. */
const LIMITS = ['max_tokens', 'max_completion_tokens']

/** Whether asking a draft leaves out something of it that is done for a stored prompt: calls by the model, a limit, the check of an answer. */
export function isAskedPlainly ({ settings }: Entry): boolean {
  const defaults = (settings['defaults'] ?? {}) as Readonly<Record<string, unknown>>
  return settings['structured'] === true || OF_SERVICE.some(name => Object.hasOwn(defaults, name))
}

/** The answers of the columns, by the columns' keys, and the functions that ask for them and stop them. What runs when the page is left is stopped. */
export function useAnswers () {
  const [answers, setAnswers] = useState<ReadonlyMap<number, AnswerState>>(new Map())
  const running = useRef(new Map<number, AbortController>())
  useEffect(() => () => { for (const controller of running.current.values()) controller.abort() }, [])

  const ask = async (columns: readonly Column[], question: Question) => {
    // Columns that ask the same draft ask the same text, and its tools are called once.
    let rendered: Promise<Preview | undefined> | undefined
    const render = () => {
      rendered ??= question.render()
      return rendered
    }
    await Promise.all(columns.map(async column => {
      const controller = new AbortController()
      running.current.get(column.key)?.abort()
      running.current.set(column.key, controller)
      const isCurrent = () => running.current.get(column.key) === controller
      const tell = (state: AnswerState) => { if (isCurrent()) setAnswers(before => new Map(before).set(column.key, state)) }
      await answer(column, { ...question, render }, controller.signal, tell)
      if (isCurrent()) running.current.delete(column.key)
    }))
  }
  const stop = (key: number) => { running.current.get(key)?.abort() }
  const forget = (key: number) => {
    stop(key)
    running.current.delete(key)
    setAnswers(before => new Map([...before].filter(([other]) => other !== key)))
  }
  return { answers, ask, stop, forget }
}

/** Asks for one answer. It is told at most once a frame, since words may come faster. */
async function answer (column: Column, question: Question, signal: AbortSignal, tell: (state: AnswerState) => void): Promise<void> {
  let state = BEGUN
  let frame = 0
  const change = (next: AnswerState) => {
    state = next
    if (frame !== 0) return
    frame = requestAnimationFrame(() => {
      frame = 0
      tell(state)
    })
  }
  tell(state)
  let began = performance.now()
  const since = () => performance.now() - began
  try {
    const request = await requestOf(column, question, signal)
    began = performance.now()
    await readStream(request, ({ data }) => {
      if (data === '[DONE]') return change({ ...state, isWhole: true })
      const chunk = JSON.parse(data) as Chunk & { readonly error?: { readonly message?: string } | null }
      if (typeof chunk.error === 'object' && chunk.error !== null) throw new Told(chunk.error.message ?? t.answerCut)
      change(withChunk(state, chunk, since()))
    }, comment => {
      if (comment.trim() !== 'keepalive') change({ ...state, steps: [...state.steps, comment] })
    }, headers => { state = { ...state, version: headers.get('x-prompt-version') ?? undefined } })
    if (!state.isWhole) throw new Told(t.answerCut)
    state = { ...state, wholeMs: since() }
  } catch (failure) {
    state = signal.aborted ? { ...state, isStopped: true } : { ...state, error: failure }
  }
  cancelAnimationFrame(frame)
  tell({ ...state, isBusy: false })
}

/** @throws Told when nothing can be asked */
async function requestOf (column: Column, { id, isDraft, entry, tried, render }: Question, signal: AbortSignal): Promise<Request> {
  const read = parametersOf(column)
  if ('problem' in read) throw new Told(parameterProblem(read.problem))
  // Providers count the tokens of a stream only if they are asked to. For one that refuses the field, null among the parameters leaves it out.
  const shared = withoutNulls({ stream_options: { include_usage: true }, ...read.parameters, stream: true })
  const post = (path: string, body: object) => new Request(path, {
    method: 'POST',
    signal,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body)
  })
  if (column.target !== 'draft' || !isDraft) return post(`/api/chat/prompts/${encodeURIComponent(id)}?${queryOf(column.target)}`, { ...shared, ...tried })
  const rendered = (await render())?.rendered_prompt
  signal.throwIfAborted()
  if (rendered === undefined) throw new Told(t.notAsked)
  const limits = LIMITS.some(name => Object.hasOwn(read.parameters, name)) ? LIMITS : []
  const defaults = Object.entries((entry.settings['defaults'] ?? {}) as Record<string, unknown>).filter(([name]) => ![...OF_SERVICE, ...limits].includes(name))
  return post('/v1/chat/completions', {
    ...Object.fromEntries(defaults),
    ...shared,
    messages: typeof rendered === 'string' ? [{ role: 'user', content: rendered }] : rendered
  })
}

function withoutNulls (fields: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null))
}

export function parameterProblem (own: string): string {
  return own === '' ? t.parametersUnread : t.parameterOwn(own)
}
