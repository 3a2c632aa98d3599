import { useState } from 'react'
import { useCaller } from '../api/caller.ts'
import { CopyButton } from '../parts/copy-button.tsx'
import { t } from '../text/text.ts'
import { useReleases } from './releases/use-releases.ts'
import { SNIPPETS } from './snippets.ts'
import { readTried } from './tried.ts'

/** The tab that shows how a program calls the prompt, at this address, with the values that were tried last. */
export function UseItTab ({ id }: { readonly id: string }) {
  const labels = Object.keys(useReleases(id).data?.value.labels ?? {})
  const [label, setLabel] = useState('')
  const [name, setName] = useState('curl')
  const hasTokens = useCaller()?.mode === 'tokens'
  const call = { origin: location.origin, id: label === '' ? id : `${id}@${label}`, variables: readTried(id).variables, hasTokens }
  const text = SNIPPETS[name]?.(call) ?? ''
  return (
    <section className='panel'>
      <header>
        <h2>{t.tabUseIt}</h2>
        <select className='field auto' aria-label={t.program} value={name} onChange={event => { setName(event.target.value) }}>
          {Object.keys(SNIPPETS).map(each => <option key={each}>{each}</option>)}
        </select>
        <select className='field auto' aria-label={t.labelOfCall} value={label} onChange={event => { setLabel(event.target.value) }}>
          <option value=''>{t.withoutLabel}</option>
          {['latest', ...labels].map(each => <option key={each}>{each}</option>)}
        </select>
        <span className='grow' />
        <CopyButton text={text} />
      </header>
      <pre className='body text' tabIndex={0} aria-label={name}>{text}</pre>
      {hasTokens && <p className='hint inside'>{t.tokenOfCall}</p>}
    </section>
  )
}
