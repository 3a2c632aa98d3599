import { type ReactNode, type RefObject, useEffect, useRef, useState } from 'react'

/** The least number of rows that come and go together, and the most blocks of rows. */
const BLOCK = 50
const MOST_BLOCKS = 2000

/** How far from the screen rows are in the page, in px. */
const NEAR = '800px 0px'

/**
 * Shows a long list, of which only the rows near the screen are in the page. Rows may have any height: those that are left out keep the place
 * that they took, or else that of `height` px each. In an element with `data-scrolls`, they come and go with its scrolling.
 */
export function Windowed ({ count, height, target, wish, row }: {
  readonly count: number
  readonly height: number
  /** The row that is brought to the middle of the screen, once for each `wish`: rows that are opened above it move it, and nobody asks for it again. */
  readonly target?: number | undefined
  readonly wish?: string | undefined
  /** Makes a row: one element. */
  readonly row: (index: number) => ReactNode
}) {
  const size = Math.max(BLOCK, Math.ceil(count / MOST_BLOCKS))
  const granted = useRef<string>(undefined)
  return Array.from({ length: Math.ceil(count / size) }, (_, index) => {
    const [from, to] = [index * size, Math.min(count, (index + 1) * size)]
    const wanted = target !== undefined && target >= from && target < to ? target : undefined
    return <Block key={from} from={from} to={to} height={height} target={wanted} wish={wish} granted={granted} row={row} />
  })
}

function Block ({ from, to, height, target, wish, granted, row }: {
  readonly from: number
  readonly to: number
  readonly height: number
  readonly target: number | undefined
  readonly wish: string | undefined
  readonly granted: RefObject<string | undefined>
  readonly row: (index: number) => ReactNode
}) {
  const place = useRef<HTMLDivElement>(null)
  const taken = useRef<number>(undefined)
  const [isNear, setNear] = useState(from === 0)
  useEffect(() => {
    const block = place.current as HTMLDivElement
    const observer = new IntersectionObserver(entries => {
      const entry = entries.at(-1) as IntersectionObserverEntry
      if (!entry.isIntersecting && block.childElementCount > 0) taken.current = entry.boundingClientRect.height
      setNear(entry.isIntersecting)
    }, { root: block.closest('[data-scrolls]'), rootMargin: NEAR })
    observer.observe(block)
    return () => { observer.disconnect() }
  }, [])
  useEffect(() => { if (target !== undefined && granted.current !== wish) setNear(true) }, [target, wish, granted])
  useEffect(() => {
    if (!isNear || target === undefined || granted.current === wish) return
    granted.current = wish
    place.current?.children[target - from]?.scrollIntoView({ block: 'center' })
  }, [isNear, target, from, wish, granted])
  if (!isNear) return <div ref={place} data-from={from} style={{ height: taken.current ?? (to - from) * height }} />
  return <div ref={place} data-from={from}>{Array.from({ length: to - from }, (_, index) => row(from + index))}</div>
}
