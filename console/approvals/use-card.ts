import { type RefObject, useMemo, useRef, useState } from 'react'
import { useMay } from '../api/caller.ts'
import { oddities } from '../parts/oddities.ts'
import { type Asked, isGrave, placeOf, textOf } from './approval.ts'
import { changedWords, type Range } from './changed-words.ts'
import { type Decision, useDecision } from './use-decision.ts'
import { useReadiness } from './use-readiness.ts'

/** What a card knows beside what it asks. */
export interface Card {
  readonly approval: Asked
  readonly decision: Decision
  readonly place: string
  /** What is agreed to: as it was proposed, or as it was edited here. */
  readonly text: string
  readonly proposed: string
  readonly edited: string | undefined
  /** What differs: from what was proposed once it is edited, else from what was decided before. */
  readonly marks: readonly Range[]
  readonly setEdited: (text: string | undefined) => void
  readonly kind: 'command' | 'tool' | 'change' | 'commit'
  readonly mayApprove: boolean
  /** Whether the place has to be typed. */
  readonly isGrave: boolean
  readonly typed: string
  readonly setTyped: (text: string) => void
  /** Called with whether every file of a change was looked at. */
  readonly setLooked: (isLooked: boolean) => void
  /** Whether it can be agreed to now. */
  readonly mayRun: boolean
  /** Whether the second step is open. */
  readonly isAsked: boolean
  readonly openSecond: () => void
  readonly closeSecond: () => void
  readonly run: () => void
  readonly end: RefObject<HTMLSpanElement | null>
}

const KINDS: Readonly<Record<string, Card['kind']>> = { exec: 'command', apply: 'change', commit: 'commit' }

/** @param before what the session asked for before, where that was shown here */
export function useCard (approval: Asked, onDecided: () => void, before?: string): Card {
  const end = useRef<HTMLSpanElement>(null)
  const [edited, setText] = useState<string>()
  const [typed, setTyped] = useState('')
  const [isAsked, setAsked] = useState(false)
  const [isLooked, setLooked] = useState(false)
  const decision = useDecision(approval, onDecided)
  const mayApprove = useMay('approve')
  const proposed = textOf(approval)
  const text = edited ?? proposed
  const other = edited === undefined ? before : proposed
  const marks = useMemo(() => other === undefined || other === text ? [] : changedWords(other, text), [other, text])
  const isReady = useReadiness(`${approval.digest}${edited ?? ''}`, end)
  const place = placeOf(approval)
  const { hidden, mixed } = oddities(text)
  const grave = isGrave(approval) || hidden > 0 || mixed.length > 0
  const kind = KINDS[approval.effect.kind] ?? 'tool'
  const closeSecond = () => { setAsked(false) }
  return {
    approval,
    decision,
    place,
    text,
    proposed,
    edited,
    marks,
    setEdited: next => {
      setText(next)
      setAsked(false)
    },
    kind,
    mayApprove,
    isGrave: grave,
    typed,
    setTyped,
    setLooked,
    mayRun: mayApprove && (kind !== 'change' || isLooked) && isReady && !decision.isBusy && (!grave || typed === place) && text.trim() !== '',
    isAsked,
    openSecond: () => { setAsked(true) },
    closeSecond,
    run: () => {
      setAsked(false)
      void decision.approve(edited === undefined || edited === proposed ? undefined : edited)
    },
    end
  }
}
