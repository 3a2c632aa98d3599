import { type ComponentType, useEffect, useReducer, useState } from 'react'
import { t } from '../text/text.ts'

/** The pauses before the code of a part is requested again, in ms. */
const PAUSES = [500, 2000]

/** Loads code, and tries again after a pause when that fails. @throws TypeError when it cannot be loaded */
export async function loadAgain<T> (load: () => Promise<T>): Promise<T> {
  for (const pause of PAUSES) {
    try {
      return await load()
    } catch {
      await new Promise(resolve => { setTimeout(resolve, pause) })
    }
  }
  return await load()
}

/**
 * Makes a component whose code is loaded when it is first shown. Where that fails, it says why in its own place, with a button that goes on:
 * what is around it, and what was typed there, stays.
 */
export function lazyPart<P extends object> (load: () => Promise<ComponentType<P>>): ComponentType<P> {
  let Loaded: ComponentType<P> | undefined
  return function LazyPart (props: P) {
    const [attempt, retry] = useReducer((count: number) => count + 1, 0)
    const [why, setWhy] = useState<Why>()
    const [, setLoaded] = useState(Loaded !== undefined)
    useEffect(() => {
      if (Loaded !== undefined) return
      let isGone = false
      setWhy(undefined)
      loadAgain(load).then(
        part => {
          Loaded = part
          if (!isGone) setLoaded(true)
        },
        async () => {
          const found = await whyLost()
          if (!isGone) setWhy(found)
        }
      )
      return () => { isGone = true }
    }, [attempt])
    if (Loaded !== undefined) return <Loaded {...props} />
    if (why === undefined) return <p className='quiet loading' role='status'>{t.loading}</p>
    return (
      <div className='note bad' role='alert'>
        <span className='grow wrap'>{{ updated: t.partUpdated, unreachable: t.partUnreachable, failed: t.partFailed }[why]}</span>
        {why === 'unreachable'
          ? <button type='button' className='button small' onClick={retry}>{t.retry}</button>
          : <button type='button' className='button small' onClick={() => { location.reload() }}>{t.reload}</button>}
      </div>
    )
  }
}

/**
 * Why code cannot be loaded. `updated`: the service has another version of the console by now, whose files have other names. `failed`: it has
 * this version, so that a browser which remembers a failure has to load the page anew.
 */
type Why = 'updated' | 'unreachable' | 'failed'

async function whyLost (): Promise<Why> {
  try {
    const reply = await fetch('/console/', { cache: 'no-store' })
    if (!reply.ok) return 'unreachable'
    const script = document.querySelector('script[type=module]')?.getAttribute('src') ?? ''
    return (await reply.text()).includes(script) ? 'failed' : 'updated'
  } catch {
    return 'unreachable'
  }
}
