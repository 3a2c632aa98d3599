import { type RefObject, useEffect, useState } from 'react'

/** How long a card has to stand unchanged before it can be agreed to, in ms. */
const STILL = 800

/** Whether somebody can have read a card: the end of what it asks was seen, in a tab that is seen, and it has stood still since. */
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
