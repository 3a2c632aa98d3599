import { useEffect, useRef, useState } from 'react'
import { ApiError } from '../api/api-error.ts'
import { type Bundle, type Needs, type Preview, previewPrompt, type Tried, type Wish } from '../api/preview.ts'

/**
 * How long the author must not have typed before a preview is requested, in ms. The time that the last preview took is subtracted, so that
 * with any service a preview appears about `REST` ms after the last key; but the wait is never shorter than `LEAST_REST`.
 */
const REST = 120
const LEAST_REST = 40

/** How many times a preview is requested again from a service that is too busy for it, and the pause before each time, in ms. */
const RETRIES = 4
const PAUSE = 800

/** The latest preview, and the last one in which the prompt could be rendered. */
export interface PreviewState {
  readonly latest: Preview | undefined
  /** The last preview in which the prompt could be rendered. It is still shown while the text has mistakes. */
  readonly good: Preview | undefined
  readonly goodAt: number | undefined
  /** The names of missing variables in whose place `good` has marks, such as `⟨name⟩`. */
  readonly holes: readonly string[]
  /** What the prompt needs, as the last preview said whose text could be read. */
  readonly needs: Needs | undefined
  /** Whether somebody has asked for a render: what is missing is then said at once. */
  readonly isAsked: boolean
  readonly error: unknown
  readonly isBusy: boolean
  /** Renders the prompt with calls of its tools. The previews after it use the results of these calls. */
  readonly renderLive: () => Promise<Preview | undefined>
  readonly known: Bundle | undefined
  readonly setKnown: (bundle: Bundle | undefined) => void
}

/**
 * Previews a prompt while the author writes it. A preview is cancelled when a newer one begins, but for one with calls of tools, which
 * somebody has asked for: its reply is given, and shown unless a newer one is.
 */
export function usePreview (id: string, prompt: unknown, tried: Tried, isOn: boolean): PreviewState {
  const [latest, setLatest] = useState<Preview>()
  const [good, setGood] = useState<{ readonly preview: Preview, readonly at: number, readonly holes: readonly string[] }>()
  const [needs, setNeeds] = useState<Needs>()
  const [isAsked, setAsked] = useState(false)
  const [error, setError] = useState<unknown>()
  const [isBusy, setBusy] = useState(false)
  const [known, setKnown] = useState<Bundle>()
  const running = useRef<AbortController>(null)
  const turns = useRef(0)
  const took = useRef(0)
  const text = JSON.stringify([prompt, tried])

  const run = async (wish: Pick<Wish, 'tools' | 'known'>): Promise<Preview | undefined> => {
    const isLive = wish.tools === 'live'
    if (isLive) setAsked(true)
    running.current?.abort()
    const controller = new AbortController()
    running.current = isLive ? null : controller
    const turn = ++turns.current
    setBusy(true)
    const began = performance.now()
    try {
      const preview = await patiently(() => previewPrompt(id, { prompt, ...tried, ...wish }, controller.signal), controller.signal)
      took.current = performance.now() - began
      if (turn !== turns.current) return preview
      setLatest(preview)
      setError(undefined)
      if (preview.needs !== undefined) setNeeds(preview.needs)
      if (preview.explain !== undefined) setGood({ preview, at: Date.now(), holes: [] })
      else if (!isLive) {
        const marked = await withHoles(preview, tried, filled => previewPrompt(id, { prompt, ...filled, ...wish }, controller.signal))
        if (marked !== undefined && turn === turns.current) setGood({ ...marked, at: Date.now() })
      }
      if (preview.bundle !== undefined) setKnown(preview.bundle)
      return preview
    } catch (failure) {
      if (!controller.signal.aborted) setError(failure)
      return undefined
    } finally {
      if (turn === turns.current) setBusy(false)
    }
  }
  useEffect(() => {
    if (!isOn) return
    const timer = setTimeout(() => { void run({ tools: 'known', known }) }, Math.max(LEAST_REST, REST - took.current))
    return () => { clearTimeout(timer) }
    // A new bundle alone needs no new preview: it has come with a preview, which shows the bundle's results already.
  }, [id, text, isOn])
  useEffect(() => () => { running.current?.abort() }, [])
  return {
    latest,
    good: good?.preview,
    goodAt: good?.at,
    holes: good?.holes ?? NONE,
    needs,
    isAsked,
    error,
    isBusy,
    renderLive: () => run({ tools: 'live', known: undefined }),
    known,
    setKnown
  }
}

const NONE: readonly string[] = []

/** Previews a prompt of which nothing is wrong but that variables are missing, with a mark in the place of each. */
async function withHoles (
  { diagnostics }: Preview,
  tried: Tried,
  ask: (filled: Tried) => Promise<Preview>
): Promise<{ readonly preview: Preview, readonly holes: readonly string[] } | undefined> {
  const errors = diagnostics.filter(({ severity }) => severity === 'error')
  const holes = [...new Set(errors.map(({ code, path = '' }) => code === 'VARIABLE_MISSING' ? /^variables\.([\w.]+)$/.exec(path)?.[1] ?? '' : ''))]
  if (holes.length === 0 || holes.includes('')) return undefined
  const preview = await ask({ ...tried, variables: holes.reduce((values, hole) => filledAt(values, hole.split('.'), `⟨${hole}⟩`), tried.variables) })
  return preview.explain === undefined ? undefined : { preview, holes }
}

function filledAt (values: Tried['variables'], [name = '', ...rest]: readonly string[], mark: string): Tried['variables'] {
  if (rest.length === 0) return { ...values, [name]: mark }
  const inner = Object.hasOwn(values, name) ? values[name] : undefined
  return { ...values, [name]: filledAt(typeof inner === 'object' && inner !== null ? inner as Tried['variables'] : {}, rest, mark) }
}

/** Repeats a request while the service is too busy for it (status 503), until the signal aborts or `RETRIES` is reached. */
async function patiently<T> (ask: () => Promise<T>, signal: AbortSignal): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await ask()
    } catch (error) {
      if (signal.aborted || attempt > RETRIES || !(error instanceof ApiError) || error.status !== 503) throw error
      await new Promise(resolve => { setTimeout(resolve, PAUSE) })
    }
  }
}
