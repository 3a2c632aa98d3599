import { type RefObject, useMemo, useRef, useState } from 'react'
import { useMay } from '../api/caller.ts'
import { oddities } from '../parts/oddities.ts'
import { type Asked, isGrave, placeOf, textOf } from './approval.ts'
import { changedWords, type Range } from './changed-words.ts'
import { type Decision, useDecision } from './use-decision.ts'
import { useReadiness } from './use-readiness.ts'

/** The state of a card, and the functions that its buttons call. */
export interface Card {
  readonly approval: Asked
  readonly decision: Decision
  readonly place: string
  /** The text that the person would approve: the proposed text, or the text as the person has edited it on the card. */
  readonly text: string
  readonly proposed: string
  readonly edited: string | undefined
  /**
   * The changed parts of the text. An edited text is compared with the proposed one; else the text is compared with the one that the
   * session asked about before.
   */
  readonly marks: readonly Range[]
  readonly setEdited: (text: string | undefined) => void
  readonly kind: 'command' | 'tool' | 'change' | 'commit'
  readonly mayApprove: boolean
  /** Whether the person has to type the place before approving. */
  readonly isGrave: boolean
  readonly typed: string
  readonly setTyped: (text: string) => void
  /** Called with whether the person has looked at every file of the change. */
  readonly setLooked: (isLooked: boolean) => void
  /** Whether the action can be approved now. */
  readonly mayRun: boolean
  /** Whether the second step is open. */
  readonly isAsked: boolean
  readonly openSecond: () => void
  readonly closeSecond: () => void
  readonly run: () => void
  readonly end: RefObject<HTMLSpanElement | null>
}

const KINDS: Readonly<Record<string, Card['kind']>> = { exec: 'command', apply: 'change', commit: 'commit' }

/** Keeps the state of a card. @param before the text that the session asked about before, if the card of that question is still shown */
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
