import { type RefObject, useEffect, useMemo, useRef, useState } from 'react'
import { ApiError } from '../api/api-error.ts'
import { useCaller, useMay } from '../api/caller.ts'
import { api, take } from '../api/client.ts'
import { PATIENCE } from '../api/sending.ts'
import { oddities } from '../parts/oddities.ts'
import { type ApprovalReply, type Asked, isGrave, placeOf, textOf } from './approval.ts'
import { changedWords, type Range } from './changed-words.ts'

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
  readonly kind: 'command' | 'tool' | 'change' | 'commit' | 'move'
  readonly mayApprove: boolean
  /** Whether the person has asked for it, or has agreed already: then somebody else has to. */
  readonly isOwn: boolean
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
  /** Whether a key has asked to reject the action: a second press of it rejects. */
  readonly isRejecting: boolean
  readonly setRejecting: (isRejecting: boolean) => void
  /** Takes back what was asked for and not yet decided. */
  readonly closeAll: () => void
  readonly run: () => void
  readonly end: RefObject<HTMLSpanElement | null>
}

const KINDS: Readonly<Record<string, Card['kind']>> = { exec: 'command', apply: 'change', commit: 'commit', move: 'move' }

/** Keeps the state of a card. @param before the text that the session asked about before, if the card of that question is still shown */
export function useCard (approval: Asked, onDecided: () => void, before?: string): Card {
  const end = useRef<HTMLSpanElement>(null)
  const [edited, setText] = useState<string>()
  const [typed, setTyped] = useState('')
  const [isAsked, setAsked] = useState(false)
  const [isLooked, setLooked] = useState(false)
  const [isRejecting, setRejecting] = useState(false)
  const decision = useDecision(approval, onDecided)
  const isOwn = useIsOwn(approval)
  const mayApprove = useMay('approve') && !isOwn
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
    isOwn,
    isGrave: grave,
    typed,
    setTyped,
    setLooked,
    mayRun: mayApprove && (kind !== 'change' || isLooked) && isReady && !decision.isBusy && (!grave || typed === place) && text.trim() !== '',
    isAsked,
    openSecond: () => {
      setAsked(true)
      setRejecting(false)
    },
    closeSecond,
    isRejecting,
    setRejecting: next => {
      setRejecting(next)
      setAsked(false)
    },
    closeAll: () => {
      setAsked(false)
      setRejecting(false)
    },
    run: () => {
      setAsked(false)
      void decision.approve(edited === undefined || edited === proposed ? undefined : edited)
    },
    end
  }
}

function useIsOwn ({ effect: { looks } }: Asked): boolean {
  const { name } = useCaller() ?? {}
  return looks !== undefined && name !== undefined && [looks.author, ...looks.by].includes(name)
}

/** How long a card has to stay unchanged before its action can be approved, in ms. */
const STILL = 800

/** Whether the person can have read a card: its end was on the screen while the tab was visible, and the card has stayed unchanged for `STILL` ms. */
function useReadiness (digest: string, end: RefObject<Element | null>): boolean {
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

/** The decision about an action that waits. It is made once, and only about the action that the person was shown. */
interface Decision {
  readonly decided: NonNullable<ApprovalReply['decided']> | undefined
  /** Whether the decision was made in this tab, as far as anybody can know. */
  readonly isMine: boolean
  readonly isBusy: boolean
  /** What has become of the move of a label that was agreed to. */
  readonly outcome: { readonly status: string, readonly problem: string | undefined } | undefined
  /** Whether the decision was sent, but no reply has come, so that nobody knows whether it has reached the service. */
  readonly doubt: boolean
  readonly error: unknown
  readonly approve: (command: string | undefined) => Promise<void>
  readonly reject: () => Promise<void>
  readonly readAgain: () => Promise<void>
}

function useDecision ({ id, digest, effect: { kind }, decided: known }: Asked, onDecided: () => void): Decision {
  const [decided, setDecided] = useState(known)
  const [isSent, setSent] = useState(false)
  const [isBusy, setBusy] = useState(false)
  const [doubt, setDoubt] = useState(false)
  const [error, setError] = useState<unknown>()
  const caller = useCaller()
  const [outcome, setOutcome] = useState<Decision['outcome']>()
  useEffect(() => { if (known !== undefined) setDecided(known) }, [known])

  const readAgain = async () => {
    setError(undefined)
    try {
      const now = await take(api.GET('/api/approvals/{id}', { params: { path: { id } }, signal: AbortSignal.timeout(PATIENCE) }))
      setDoubt(false)
      if (now.decided !== undefined) setDecided(now.decided)
      onDecided()
    } catch (failure) {
      setError(failure)
    }
  }
  const decide = async (decision: 'approve' | 'reject', command?: string) => {
    if (isBusy) return
    setBusy(true)
    setError(undefined)
    setDoubt(false)
    try {
      // The service refuses what has changed since the person looked at it, and what somebody else has decided.
      const { decided: mine, status, problem } = await take(api.POST('/api/approvals/{id}', {
        params: { path: { id } },
        body: { decision, digest, command },
        signal: AbortSignal.timeout(PATIENCE)
      }))
      setSent(true)
      if (kind === 'move' && decision === 'approve') setOutcome({ status, problem: problem?.message })
      setDecided(mine)
      onDecided()
    } catch (failure) {
      if (!(failure instanceof ApiError)) {
        setSent(true)
        setDoubt(true)
      } else if (failure.code === 'APPROVAL_DECIDED') await readAgain()
      else setError(failure)
      if (failure instanceof ApiError && failure.code === 'APPROVAL_OUTDATED') onDecided()
    } finally {
      setBusy(false)
    }
  }
  // What this tab has sent may have counted though its reply was lost.
  const isMine = isSent && (decided?.by === '' || decided?.by === caller?.name)
  return { decided, isMine, isBusy, outcome, doubt, error, approve: command => decide('approve', command), reject: () => decide('reject'), readAgain }
}
