import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { Link } from 'wouter'
import { useCaller } from '../api/caller.ts'
import { api, take } from '../api/client.ts'
import type { Needs } from '../api/preview.ts'
import { UsedBy } from '../library/used-by.tsx'
import { CopyButton } from '../parts/copy-button.tsx'
import { Loaded } from '../parts/loading.tsx'
import { t } from '../text/text.ts'
import { useReleases } from './releases/use-releases.ts'
import { SNIPPETS } from './snippets.ts'
import { readTried } from './tried.ts'

/** The tab with all that a prompt uses, as a tree of links, and with the prompts that use this prompt. */
export function UsesTab ({ id }: { readonly id: string }) {
  const needs = useQuery({
    queryKey: ['registry', 'needs', id],
    queryFn: () => take(api.GET('/api/prompts/{id}/needs', { params: { path: { id }, query: { label: 'latest' } } }))
  })
  return (
    <div className='split halves'>
      <section className='panel'>
        <header><h2>{t.needs}</h2></header>
        <div className='body'><Loaded query={needs}>{loaded => <Tree needs={loaded} />}</Loaded></div>
      </section>
      <UsedBy kind='prompts' id={id} />
    </div>
  )
}

function Tree ({ needs }: { readonly needs: Needs }) {
  if ([needs.variables, needs.environs, needs.tools, needs.partials].every(list => list.length === 0)) return <p className='quiet'>{t.needsNothing}</p>
  return (
    <ul className='tree'>
      <Branch
        name={t.variablesOfCaller} items={unique(needs.variables.map(({ path, required, in: partial }) => [
          path + String(partial),
          <span key={path}><code>{path}</code> {required && <span className='quiet'>{t.required}</span>} <In partial={partial} /></span>
        ]))}
      />
      <Branch
        name={t.variablesShared} items={unique(needs.environs.map(({ path, registered, in: partial }) => [
          path + String(partial),
          (
            <span key={path}>
              <Link href={`/environs/${encodeURIComponent(path)}`}><code>{path}</code></Link>
              {' '}
              {!registered && <span className='chip warn'>{t.notRegistered}</span>}
              {' '}
              <In partial={partial} />
            </span>
          )
        ]))}
      />
      <Branch
        name={t.tools} items={unique(needs.tools.map(({ name, id, arguments: given, in: partial }) => [
          name + given.join() + String(partial),
          (
            <span key={name}>
              {id === undefined ? <code>{name}</code> : <Link href={`/tools/${encodeURIComponent(id)}`}><code>{id}</code></Link>}
              {' '}
              <code className='quiet'>{given.join(' ')}</code>
              {' '}
              {id === undefined && <span className='chip warn'>{t.notRegistered}</span>}
              {' '}
              <In partial={partial} />
            </span>
          )
        ]))}
      />
      <Branch
        name={t.partials} items={unique(needs.partials.map(({ name, id, in: partial }) => [
          name + String(partial),
          (
            <span key={name}>
              {id === undefined ? <code>{name}</code> : <Link href={`/prompts/${encodeURIComponent(id)}`}><code>{id}</code></Link>}
              {' '}
              {id === undefined && <span className='chip warn'>{t.notRegistered}</span>}
              {' '}
              <In partial={partial} />
            </span>
          )
        ]))}
      />
    </ul>
  )
}

function Branch ({ name, items }: { readonly name: string, readonly items: readonly ReactNode[] }) {
  if (items.length === 0) return null
  return <li><h3>{name} <span className='quiet num'>{items.length}</span></h3><ul>{items.map((item, index) => <li key={index}>{item}</li>)}</ul></li>
}

function In ({ partial }: { readonly partial: string | undefined }) {
  return partial === undefined ? null : <span className='quiet'>{t.inPartial(partial)}</span>
}

/** Removes repeated items, since a prompt may use the same thing at several places. */
function unique (items: ReadonlyArray<readonly [string, ReactNode]>): readonly ReactNode[] {
  return [...new Map(items).values()]
}

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
