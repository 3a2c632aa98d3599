import { useEffect, useRef } from 'react'
import { useLocation } from 'wouter'
import { isShortcut, letterOf } from '../parts/writing.ts'
import { t } from '../text/text.ts'
import { authorPlaces, useOpenPlaces, workPlaces } from './places.ts'

/** How long after `g` a second key still belongs to it, in ms. */
const PATIENCE = 1500

export function openKeys (): void {
  dispatchEvent(new Event('console:keys'))
}

/** The keys that work on every screen, and the dialog that lists all keys. */
export function Keys () {
  const dialog = useRef<HTMLDialogElement>(null)
  const [, go] = useLocation()
  const places = useOpenPlaces([...authorPlaces(), ...workPlaces()])
  // The times of key events begin at 0 when the page is opened, so 0 cannot mean that `g` was not pressed.
  const keyG = useRef(-Infinity)
  useEffect(() => {
    const show = () => { dialog.current?.showModal() }
    const press = (event: KeyboardEvent) => {
      if (!isShortcut(event)) return
      const letter = letterOf(event)
      const place = event.timeStamp - keyG.current < PATIENCE ? places.find(({ key }) => key === letter) : undefined
      keyG.current = letter === 'g' ? event.timeStamp : -Infinity
      if (place !== undefined) go(place.path)
      else if (event.key === '?') show()
      else if (event.key === '/') dispatchEvent(new Event('console:search'))
      else if (letter === 'j' || letter === 'k') moveRow(letter === 'j' ? 1 : -1)
      else return
      event.preventDefault()
    }
    addEventListener('keydown', press)
    addEventListener('console:keys', show)
    return () => {
      removeEventListener('keydown', press)
      removeEventListener('console:keys', show)
    }
  }, [go, places])
  return (
    <dialog ref={dialog} aria-labelledby='keys-title'>
      <div className='stack'>
        <h2 id='keys-title'>{t.keys}</h2>
        <dl className='facts'>
          {[
            ['/', t.search],
            ...places.map(({ key, name }) => [`g ${key}`, name]),
            ['j k', t.keyRows],
            ['a e s', t.keyCard],
            ['u', t.undo],
            ['Esc', t.keyEscape],
            ['Ctrl Space', t.keyComplete],
            [t.keyWhatKeys, t.keyWhat],
            [t.keySave, t.save],
            [t.keyRenderKeys, t.renderLive],
            [t.keyAskKeys, t.askModel],
            ['?', t.keys]
          ].map(([key, name]) => <div key={key} className='contents'><dt><kbd>{key}</kbd></dt><dd>{name}</dd></div>)}
        </dl>
        <form method='dialog'><button className='button'>{t.close}</button></form>
      </div>
    </dialog>
  )
}

/** Moves the focus from the link of one row to that of the next row, or of the previous one. */
function moveRow (step: 1 | -1): void {
  const rows = [...document.querySelectorAll<HTMLElement>('main [data-row]')]
  const at = rows.indexOf(document.activeElement as HTMLElement)
  rows[at < 0 ? 0 : Math.max(0, Math.min(rows.length - 1, at + step))]?.focus()
}
