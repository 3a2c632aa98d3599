import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Link, useLocation } from 'wouter'
import { queries } from '../api/queries.ts'
import { ErrorNote } from '../parts/error-note.tsx'
import { Rows } from '../parts/table.tsx'
import { When } from '../parts/when.tsx'
import { t } from '../text/text.ts'
import { closeTerminal, listTerminals, openTerminal } from './terminal-api.ts'

/** The time between two requests for the list, in ms. */
const INTERVAL = 5000

/** Lists the open terminals of the caller, each with a link to its page and a button that ends it. */
export function OpenTerminals () {
  const terminals = useQuery({ queryKey: ['terminals'], queryFn: listTerminals, refetchInterval: INTERVAL, staleTime: 0 }).data ?? []
  if (terminals.length === 0) return null
  const close = (id: string) => { void closeTerminal(id).catch(() => {}).finally(() => queries.invalidateQueries({ queryKey: ['terminals'] })) }
  return (
    <section className='panel'>
      <header><h2>{t.openTerminals}</h2><span className='quiet num'>{terminals.length}</span></header>
      <Rows columns={[t.target, t.state, [t.began, 'wide'], ['', 'right']]}>
        {terminals.map(({ terminalId, target, state, createdAt }) => (
          <tr key={terminalId}>
            <td><Link href={`/terminals/${terminalId}`} data-row className='mono'>{target}</Link></td>
            <td><span className='chip'>{t.terminalState(state ?? 'elsewhere')}</span></td>
            <td className='wide quiet'>{createdAt !== undefined && <When at={createdAt} />}</td>
            <td className='right'><button type='button' className='button plain small' onClick={() => { close(terminalId) }}>{t.closeTerminal}</button></td>
          </tr>
        ))}
      </Rows>
    </section>
  )
}

/** The button that opens a terminal on a target, and then shows the terminal's page. */
export function OpenButton ({ target }: { readonly target: string }) {
  const [error, setError] = useState<unknown>()
  const [isBusy, setBusy] = useState(false)
  const [, go] = useLocation()
  const open = async () => {
    setBusy(true)
    setError(undefined)
    try {
      go(`/terminals/${(await openTerminal(target)).terminalId}`)
    } catch (failure) {
      setError(failure)
    } finally {
      setBusy(false)
    }
  }
  return (
    <>
      <button type='button' className='button small' disabled={isBusy} aria-label={t.openOn(target)} onClick={() => { void open() }}>{t.terminal}</button>
      {error !== undefined && <ErrorNote error={error} />}
    </>
  )
}
