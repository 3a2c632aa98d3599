import { useEffect, useRef, useState } from 'react'
import { t } from '../text/text.ts'
import { DeliberateButton } from './deliberate-button.tsx'
import { type Card } from './use-card.ts'

/** Asks the person a second time before the action runs. Its buttons are where no button was before, so that a double click does not press them. */
export function SecondStep ({ card: { edited, proposed, place, run, mayRun, closeSecond } }: { readonly card: Card }) {
  const no = useRef<HTMLButtonElement>(null)
  useEffect(() => { no.current?.focus() }, [])
  const words = edited === undefined || edited === proposed ? t.surely : t.surelyEdited
  return (
    <div className='second' role='group' aria-label={words}>
      <span className='grow'>{words}</span>
      <KeyboardYes place={place} run={run} isOff={!mayRun} />
      <DeliberateButton className='button primary' disabled={!mayRun} onPress={run}>{t.yesRun}</DeliberateButton>
      <button
        ref={no}
        type='button'
        className='button'
        onClick={closeSecond}
      >
        {t.no}
      </button>
    </div>
  )
}

/** The field by which a person approves without a mouse: the person types the name of the place and presses Enter. No single key runs anything. */
function KeyboardYes ({ place, run, isOff }: { readonly place: string, readonly run: () => void, readonly isOff: boolean }) {
  const [typed, setTyped] = useState('')
  const press = (event: React.KeyboardEvent) => {
    if (event.key !== 'Enter') return
    event.preventDefault()
    if (typed === place && !isOff && !event.repeat) run()
  }
  const label = t.typeAndEnter(place)
  return (
    <input
      className='field mono'
      aria-label={label}
      placeholder={label}
      autoComplete='off'
      spellCheck={false}
      value={typed}
      onChange={event => { setTyped(event.target.value) }}
      onKeyDown={press}
    />
  )
}
