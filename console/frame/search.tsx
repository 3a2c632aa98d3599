import { useEffect, useId, useRef, useState } from 'react'
import { useQuery } from '@tanstack/react-query'
import { useLocation } from 'wouter'
import { useMay } from '../api/caller.ts'
import { listEverything, type Found } from '../api/listings.ts'
import { t } from '../text/text.ts'

/** The largest number of hits that are shown. */
const MOST = 12

/** The field that searches the ids and descriptions of entries. The key `/` moves to the field, the arrow keys choose a hit, Enter opens it. */
export function Search () {
  const field = useRef<HTMLInputElement>(null)
  const list = useId()
  const [text, setText] = useState('')
  const [at, setAt] = useState(0)
  const [isOpen, setOpen] = useState(false)
  const [, go] = useLocation()
  const mayRead = useMay('read')
  const everything = useQuery({ queryKey: ['registry', 'everything'], queryFn: listEverything, enabled: isOpen && mayRead })
  const hits = text.trim() === '' ? [] : findIn(everything.data ?? [], text)
  useEffect(() => {
    const focus = () => { field.current?.focus() }
    addEventListener('console:search', focus)
    return () => { removeEventListener('console:search', focus) }
  }, [])
  const open = (hit: Found | undefined) => {
    if (hit === undefined) return
    setText('')
    field.current?.blur()
    go(hit.path)
  }
  return (
    <div className='search' role='search'>
      <input
        ref={field}
        className='field'
        placeholder={t.searchPlaceholder}
        aria-label={t.search}
        value={text}
        role='combobox'
        aria-expanded={isOpen && hits.length > 0}
        aria-controls={list}
        aria-autocomplete='list'
        aria-activedescendant={isOpen && hits.length > 0 ? `${list}-${at}` : undefined}
        autoComplete='off'
        spellCheck={false}
        onChange={event => { setText(event.target.value); setAt(0); setOpen(true) }}
        onFocus={() => { setOpen(true) }}
        onBlur={() => { setOpen(false) }}
        onKeyDown={event => {
          if (event.key === 'ArrowDown') setAt(Math.min(at + 1, hits.length - 1))
          else if (event.key === 'ArrowUp') setAt(Math.max(at - 1, 0))
          else if (event.key === 'Enter') open(hits[at])
          else if (event.key === 'Escape') { setText(''); field.current?.blur() } else return
          event.preventDefault()
        }}
      />
      <kbd aria-hidden='true'>/</kbd>
      <ul
        className='hits'
        id={list}
        role='listbox'
        aria-label={t.search}
        hidden={!isOpen || hits.length === 0}
      >
        {hits.map((hit, index) => (
          <li
            key={hit.path}
            id={`${list}-${index}`}
            role='option'
            aria-selected={index === at}
            onMouseDown={event => { event.preventDefault(); open(hit) }}
          >
            <span className='grow cut'>{hit.id}</span><span className='quiet'>{t.kindName(hit.kind)}</span>
          </li>
        ))}
      </ul>
    </div>
  )
}

/**
 * Finds the entries that have a text: first those whose id begins with it, then those whose id contains it, then those whose description
 * contains it.
 */
function findIn (everything: readonly Found[], text: string): readonly Found[] {
  const words = text.trim().toLowerCase()
  const ranked: Found[][] = [[], [], []]
  for (const found of everything) {
    const id = found.id.toLowerCase()
    const rank = id.startsWith(words) ? 0 : id.includes(words) ? 1 : found.description.toLowerCase().includes(words) ? 2 : -1
    if (rank >= 0) ranked[rank]?.push(found)
  }
  return ranked.flat().slice(0, MOST)
}
