import { useEffect, useState } from 'react'
import { ApiError } from '../api/api-error.ts'
import { api, take } from '../api/client.ts'
import { type ApprovalReply, type Asked } from './approval.ts'

type Decided = NonNullable<ApprovalReply['decided']>

/** How something that waits is decided: once, and about what was shown and nothing else. */
export interface Decision {
  readonly decided: Decided | undefined
  /** Whether it was decided here. */
  readonly isMine: boolean
  readonly isBusy: boolean
  /** Whether nobody knows if the answer has arrived. */
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
      // What waits now may be another than what was looked at, or somebody may have been first.
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
