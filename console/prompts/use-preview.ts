import { useEffect, useRef, useState } from 'react'
import { ApiError } from '../api/api-error.ts'
import { type Bundle, type Preview, previewPrompt, type Tried, type Wish } from '../api/preview.ts'

/**
 * How long typing rests before it is tried, in ms. What the last preview took is part of it, so that a preview stands about as long
 * after the last key wherever the service is; but it rests at least for so long.
 */
const REST = 120
const LEAST_REST = 40

/** How often, and after how many ms, a service that has no room for a preview is asked again. */
const RETRIES = 4
const PAUSE = 800

/** The latest preview, and the last one that was good. */
export interface PreviewState {
  readonly latest: Preview | undefined
  /** Stays while the text has mistakes. */
  readonly good: Preview | undefined
  readonly goodAt: number | undefined
  readonly error: unknown
  readonly isBusy: boolean
  /** Renders with its tools, and keeps what they gave for what is typed next. */
  readonly renderLive: () => Promise<Preview | undefined>
  readonly known: Bundle | undefined
  readonly setKnown: (bundle: Bundle | undefined) => void
}

/** Tries a prompt while it is written; what is overtaken is given up. */
export function usePreview (id: string, prompt: unknown, tried: Tried, isOn: boolean): PreviewState {
  const [latest, setLatest] = useState<Preview>()
  const [good, setGood] = useState<{ readonly preview: Preview, readonly at: number }>()
  const [error, setError] = useState<unknown>()
  const [isBusy, setBusy] = useState(false)
  const [known, setKnown] = useState<Bundle>()
  const running = useRef<AbortController>(null)
  const took = useRef(0)
  const text = JSON.stringify([prompt, tried])

  const run = async (wish: Pick<Wish, 'tools' | 'known'>): Promise<Preview | undefined> => {
    running.current?.abort()
    const controller = running.current = new AbortController()
    setBusy(true)
    const began = performance.now()
    try {
      const preview = await patiently(() => previewPrompt(id, { prompt, ...tried, ...wish }, controller.signal), controller.signal)
      took.current = performance.now() - began
      setLatest(preview)
      setError(undefined)
      if (preview.explain !== undefined) setGood({ preview, at: Date.now() })
      if (preview.bundle !== undefined) setKnown(preview.bundle)
      return preview
    } catch (failure) {
      if (!controller.signal.aborted) setError(failure)
      return undefined
    } finally {
      if (running.current === controller) setBusy(false)
    }
  }
  useEffect(() => {
    if (!isOn) return
    const timer = setTimeout(() => { void run({ tools: 'known', known }) }, Math.max(LEAST_REST, REST - took.current))
    return () => { clearTimeout(timer) }
    // A bundle that has come with a render changes nothing of what it shows.
  }, [id, text, isOn])
  useEffect(() => () => { running.current?.abort() }, [])
  return { latest, good: good?.preview, goodAt: good?.at, error, isBusy, renderLive: () => run({ tools: 'live', known: undefined }), known, setKnown }
}

/** Asks again where the service is busy for the moment, unless what was asked is overtaken. */
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
