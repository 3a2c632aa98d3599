import { useEffect, useState } from 'react'
import { ApiError } from '../api/api-error.ts'
import { api, take } from '../api/client.ts'
import { type ApprovalReply, type Asked } from './approval.ts'

type Decided = NonNullable<ApprovalReply['decided']>

/** The decision about an action that waits. It is made once, and only about the action that the person was shown. */
export interface Decision {
  readonly decided: Decided | undefined
  /** Whether the decision was made in this tab. */
  readonly isMine: boolean
  readonly isBusy: boolean
  /** Whether the decision was sent, but no reply has come, so that nobody knows whether it has reached the service. */
  readonly doubt: boolean
  readonly error: unknown
  readonly approve: (command: string | undefined) => Promise<void>
  readonly reject: () => Promise<void>
  readonly readAgain: () => Promise<void>
}

export function useDecision ({ id, digest, decided: known }: Asked, onDecided: () => void): Decision {
  const [decided, setDecided] = useState<Decided | undefined>(known)
  const [isMine, setMine] = useState(false)
  const [isBusy, setBusy] = useState(false)
  const [doubt, setDoubt] = useState(false)
  const [error, setError] = useState<unknown>()
  useEffect(() => { if (known !== undefined) setDecided(known) }, [known])

  const read = () => take(api.GET('/api/approvals/{id}', { params: { path: { id } } }))
  const readAgain = async () => {
    try {
      const now = await read()
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
    try {
      // The action may have changed since the person looked at it, or somebody else may have decided already.
      const now = await read()
      if (now.decided !== undefined) { setDecided(now.decided); onDecided(); return }
      const { decided: mine } = await take(api.POST('/api/approvals/{id}', {
        params: { path: { id } },
        body: { decision, digest, ...(command === undefined ? {} : { command }) }
      }))
      setMine(true)
      setDecided(mine)
      onDecided()
    } catch (failure) {
      if (!(failure instanceof ApiError)) setDoubt(true)
      else if (failure.code === 'APPROVAL_DECIDED') await readAgain()
      else setError(failure)
      if (failure instanceof ApiError && failure.code === 'APPROVAL_OUTDATED') onDecided()
    } finally {
      setBusy(false)
    }
  }
  return { decided, isMine, isBusy, doubt, error, approve: command => decide('approve', command), reject: () => decide('reject'), readAgain }
}
