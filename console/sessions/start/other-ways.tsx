import { CopyButton } from '../../parts/copy-button.tsx'
import { t } from '../../text/text.ts'

/** Shows the command lines that start the same session, each with a button that copies it. */
export function OtherWays ({ lines }: { readonly lines: ReadonlyArray<readonly [title: string, line: string]> }) {
  return (
    <section className='panel'>
      <header><h2>{t.sameElsewhere}</h2></header>
      <ul>
        {lines.map(([title, line]) => (
          <li key={title} className='item'>
            <div className='row'><h3 className='grow'>{title}</h3><CopyButton text={line} /></div>
            <code className='wrap'>{line}</code>
          </li>
        ))}
      </ul>
    </section>
  )
}

/** Quotes a text, if necessary, so that a shell reads it as one word. */
export function quoted (text: string): string {
  return /^[\w./@:=-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
}
