import { lazy, Suspense } from 'react'
import { Icon } from '../parts/icons.tsx'
import { type Tagged } from '../api/client.ts'
import { t } from '../text/text.ts'
import { entryFrom, readableForm } from './entry.ts'
import { type Workpiece } from './use-draft.ts'

const Difference = lazy(async () => ({ default: (await import('../edit/difference.tsx')).Difference }))

/** Shown when somebody else has stored the prompt since the draft was begun: both texts side by side. The author chooses one of them. */
export function Conflict ({ piece, theirs }: { readonly piece: Workpiece, readonly theirs: Tagged<{ readonly prompt: unknown }> }) {
  return (
    <section className='stack' aria-labelledby='conflict'>
      <div className='note warn' role='alert'><Icon name='problems' /><span><b id='conflict'>{t.conflict}</b> {t.conflictSafe}</span></div>
      <div className='row'>
        <button type='button' className='button primary' disabled={piece.isSaving} onClick={() => { void piece.save(theirs.tag) }}>{t.saveMine}</button>
        <button type='button' className='button' onClick={() => { piece.discard() }}>{t.takeTheirs}</button>
      </div>
      <Suspense>
        <Difference before={readableForm(entryFrom(theirs.value.prompt))} after={readableForm(piece.entry)} labels={[t.theirsNow, t.yourDraft]} />
      </Suspense>
    </section>
  )
}
