import { ErrorNote } from '../parts/error-note.tsx'
import { Revealed } from '../parts/reveal.tsx'
import { CopyButton } from '../parts/copy-button.tsx'
import { t } from '../text/text.ts'
import { type Answer } from './use-answer.ts'

/** Shows the model's answer as plain text, never as HTML. */
export function AnswerPane ({ answer: { text, steps, isBusy, isStopped, error, stop } }: { readonly answer: Answer }) {
  if (!isBusy && text === '' && error === undefined && !isStopped) return null
  return (
    <section className='panel' aria-label={t.answer} aria-busy={isBusy}>
      <header>
        <h2>{t.answer}</h2>
        {isStopped && <span className='chip'>{t.stopped}</span>}
        <span className='grow' />
        {text !== '' && <CopyButton text={text} />}
        {isBusy && <button type='button' className='button small' onClick={stop}>{t.stop}</button>}
      </header>
      <div className='body'>
        {steps.length > 0 && <ul className='steps'>{steps.map((step, index) => <li key={index} className='quiet'><Revealed text={step} /></li>)}</ul>}
        <p className='said pre' aria-live='polite'><Revealed text={text} />{isBusy && <span className='caret' />}</p>
        {error !== undefined && <ErrorNote error={error} />}
      </div>
    </section>
  )
}
