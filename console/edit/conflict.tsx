import { diffArrays } from 'diff'
import { type ReactNode, useMemo } from 'react'
import { Icon } from '../parts/icons.tsx'
import { Revealed } from '../parts/reveal.tsx'
import { t } from '../text/text.ts'
import { type Edited, joined } from './edited.ts'
import type { Editing } from './use-edited.ts'

/**
 * Shown when a save would have replaced what somebody else has stored since: what was opened, what the person made of it and what is stored
 * now, side by side. The person chooses what is stored; nothing is lost before.
 * @param textOf a value as a text that a person can compare @param who has stored it, and when, as far as it is known
 */
export function Conflict<T> ({ editing, state, textOf, who }: {
  readonly editing: Editing<T>
  readonly state: Edited<T> & { readonly theirs: NonNullable<Edited<T>['theirs']> }
  readonly textOf: (value: T) => string
  readonly who?: ReactNode
}) {
  const { base, mine, theirs } = state
  const both = joined(state)
  const store = (value: T) => {
    editing.resolve(value)
    void editing.save()
  }
  const before = textOf(base.value)
  return (
    <section className='stack' aria-labelledby='conflict'>
      <div className='note warn' role='alert'><Icon name='problems' /><span><b id='conflict'>{t.conflict}</b> {t.conflictSafe}</span></div>
      <div className='row wrap-row'>
        {both !== undefined && <button type='button' className='button primary' onClick={() => { store(both) }}>{t.saveBoth}</button>}
        <button type='button' className={both === undefined ? 'button primary' : 'button'} onClick={() => { store(mine) }}>{t.saveMine}</button>
        <button type='button' className='button' onClick={() => { editing.drop(t.draftDiscarded) }}>{t.takeTheirs}</button>
        <button type='button' className='button plain' onClick={() => { editing.postpone() }}>{t.goOnEditing}</button>
      </div>
      {both !== undefined && <p className='hint'>{t.bothFit}</p>}
      <div className='three'>
        <Column title={t.whenBegun} text={before} before={before} />
        <Column title={t.yourDraft} text={textOf(mine)} before={before} />
        <Column title={t.theirsNow} who={who} text={textOf(theirs.value)} before={before} />
      </div>
    </section>
  )
}

function Column ({ title, who, text, before }: { readonly title: string, readonly who?: ReactNode, readonly text: string, readonly before: string }) {
  const parts = useMemo(() => diffArrays(before.split('\n'), text.split('\n')).filter(({ removed }) => !removed), [before, text])
  return (
    <section className='panel'>
      <header><h3>{title}</h3>{who !== undefined && <span className='quiet'>{who}</span>}</header>
      <pre className='body text' tabIndex={0} aria-label={title}>
        {parts.map(({ added, value }, index) => {
          const lines = <Revealed text={`${value.join('\n')}\n`} />
          return added ? <ins key={index}>{lines}</ins> : <span key={index}>{lines}</span>
        })}
      </pre>
    </section>
  )
}
