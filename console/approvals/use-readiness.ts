import { type RefObject, useEffect, useState } from 'react'

/** How long a card has to stay unchanged before its action can be approved, in ms. */
const STILL = 800

/** Whether the person can have read a card: its end was on the screen while the tab was visible, and the card has stayed unchanged for `STILL` ms. */
export function useReadiness (digest: string, end: RefObject<Element | null>): boolean {
  const [isStill, setStill] = useState(false)
  const [isSeen, setSeen] = useState(false)
  useEffect(() => {
    setStill(false)
    setSeen(false)
    const timer = setTimeout(() => { setStill(true) }, STILL)
    const observer = new IntersectionObserver(entries => {
      if (entries.some(({ isIntersecting }) => isIntersecting) && document.visibilityState === 'visible') setSeen(true)
    })
    if (end.current !== null) observer.observe(end.current)
    return () => {
      clearTimeout(timer)
      observer.disconnect()
    }
  }, [digest, end])
  return isStill && isSeen
}
