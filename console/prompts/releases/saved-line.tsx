import { useState } from 'react'
import { Link } from 'wouter'
import { useUsers } from '../../library/used-by.tsx'
import { ErrorNote } from '../../parts/error-note.tsx'
import { Icon } from '../../parts/icons.tsx'
import { t } from '../../text/text.ts'
import type { Saved } from '../use-draft.ts'
import { replaceText } from './changes.ts'
import { countPrompts, meaningOf } from './meaning.ts'
import { type Releases, useReleases } from './use-releases.ts'
import { meaningInWords } from './words.ts'

/** Says after a save whom it has changed, and whom not; with the way on to them, and the way back. */
export function SavedLine ({ id, saved }: { readonly id: string, readonly saved: Saved }) {
  const releases = useReleases(id).data?.value
  const users = useUsers('prompts', id).data
  const [error, setError] = useState<unknown>()
  if (releases === undefined) return null
  const count = countPrompts(users?.rows ?? [])
  const path = `/prompts/${encodeURIComponent(id)}`
  const goBack = async () => {
    setError(undefined)
    try {
      if (saved.before !== undefined) await replaceText(id, saved.before, { value: saved.text, tag: saved.tag }, releases)
    } catch (failure) {
      setError(failure)
    }
  }
  return (
    <div className='note good outage' role='status'>
      <Icon name='check' />
      <div className='grow wrap stack tight'>
        <p>
          <b>{t.savedAs(saved.version)}</b>
          {' '}
          {whomItChanged(releases)}
          {' '}
          {count > 0 && <Link href={`${path}?tab=uses`}>{t.includedBy(count, users?.next !== undefined)}</Link>}
          {!releases.recorded && saved.before !== undefined && <> {t.beforeNotKept}</>}
        </p>
        {error !== undefined && <ErrorNote error={error} />}
        <div className='row wrap-row'>
          {saved.before !== undefined && <button type='button' className='button small' onClick={() => { void goBack() }}>{t.backToBefore}</button>}
          <Link className='button small' href={`${path}?tab=releases`}>{t.moveALabel}</Link>
        </div>
      </div>
    </div>
  )
}

/** Those without a label get it, unless the service has a label for them; those with a label get what it means, as before. */
function whomItChanged (releases: Releases): string {
  const { labels, unlabelled } = releases
  const gate = meaningOf(releases, unlabelled)
  const others = Object.entries(labels).filter(([label]) => label !== unlabelled).map(([label, meaning]) => `${label} (${meaningInWords(meaning)})`)
  const stays = others.length === 0 ? '' : ` ${t.labelsStay(others.join(', '))}`
  return `${gate === undefined ? t.savedForAll : t.savedForNobody(unlabelled, meaningInWords(gate))}${stays}`
}
