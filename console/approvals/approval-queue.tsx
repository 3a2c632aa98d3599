import { useEffect, useRef, useState } from 'react'
import { api, take } from '../api/client.ts'
import { queries } from '../api/queries.ts'
import { t } from '../text/text.ts'
import { ApprovalCard } from './approval-card.tsx'
import { type ApprovalReply, type Asked, asked, textOf } from './approval.ts'

/** How many decided cards stay on the screen. */
const MOST_DECIDED = 3

/**
 * Shows a card for each action that waits for approval, in the order in which the cards were first shown, so that no card moves while the
 * user points at it. Of the decided cards, the last `MOST_DECIDED` stay in their places. New cards are added below.
 */
export function ApprovalQueue ({ approvals, isInSession = true, showAll = false }: {
  readonly approvals: readonly ApprovalReply[]
  readonly isInSession?: boolean
  readonly showAll?: boolean
}) {
  const [shown, setShown] = useState<readonly Asked[]>([])
  const reading = useRef(new Set<string>())
  useEffect(() => {
    const now = new Map(approvals.map(approval => [approval.id, asked(approval)]))
    setShown(before => {
      const kept = before.map(approval => now.get(approval.id) ?? approval)
      const isNew = [...now.values()].filter(({ id }) => !before.some(approval => approval.id === id))
      return trimmed([...kept, ...isNew], now)
    })
  }, [approvals])
  useEffect(() => {
    for (const { id, decided } of shown) {
      if (decided !== undefined || approvals.some(approval => approval.id === id) || reading.current.has(id)) continue
      // The action no longer waits: this user or somebody else has decided. The decision is read.
      reading.current.add(id)
      take(api.GET('/api/approvals/{id}', { params: { path: { id } } }))
        .then(reply => { setShown(before => before.map(approval => approval.id === id ? asked(reply) : approval)) })
        .catch(() => { setShown(before => before.filter(approval => approval.id !== id)) })
        .finally(() => { reading.current.delete(id) })
    }
  }, [shown, approvals])
  const waiting = shown.filter(({ decided }) => decided === undefined)
  const first = showAll ? waiting : waiting.slice(0, 1)
  const refresh = () => {
    void queries.invalidateQueries({ queryKey: ['approvals'] })
    void queries.invalidateQueries({ queryKey: ['session'] })
  }
  return (
    <div className='stack queue'>
      {shown.filter(approval => approval.decided !== undefined || first.includes(approval)).map(approval => (
        <ApprovalCard
          key={`${approval.id}${approval.digest}`}
          approval={approval}
          before={before(approval, shown)}
          isInSession={isInSession}
          isFirst={approval === waiting[0]}
          onDecided={refresh}
        />
      ))}
      {waiting.length > first.length && <p className='quiet' role='status'>{t.moreWait(waiting.length - first.length)}</p>}
      <p className='unseen' role='alert'>{waiting.length > 0 ? t.somethingWaits : ''}</p>
    </div>
  )
}

/** The text of the action of the same kind that the session asked about before; `undefined` if its card is not shown any more. */
function before (approval: Asked, shown: readonly Asked[]): string | undefined {
  const isAlike = ({ session, effect }: Asked) => session === approval.session && effect.kind === approval.effect.kind
  const earlier = shown.slice(0, shown.indexOf(approval)).findLast(isAlike)
  return earlier === undefined ? undefined : textOf(earlier)
}

function trimmed (all: readonly Asked[], waiting: ReadonlyMap<string, Asked>): readonly Asked[] {
  const gone = all.filter(({ id }) => !waiting.has(id))
  const dropped = new Set(gone.slice(0, Math.max(0, gone.length - MOST_DECIDED)))
  return all.filter(approval => !dropped.has(approval))
}
