import { useState } from 'react'
import { Editor } from '../edit/editor.tsx'
import { CopyButton } from '../parts/copy-button.tsx'
import { t } from '../text/text.ts'
import { type Entry, entryFrom } from './entry.ts'

/** The tab that edits the whole prompt as JSON, in its stored form. */
export function RawTab ({ id, stored, edit }: {
  readonly id: string
  readonly stored: Readonly<Record<string, unknown>>
  readonly edit: (entry: Entry) => void
}) {
  const [text, setText] = useState(() => JSON.stringify(stored, null, 2))
  const [problem, setProblem] = useState('')
  const change = (value: string) => {
    setText(value)
    try {
      const parsed: unknown = JSON.parse(value)
      setProblem('')
      if (JSON.stringify(parsed) !== JSON.stringify(stored)) edit(entryFrom(parsed))
    } catch (error) {
      setProblem(String(error instanceof Error ? error.message : error))
    }
  }
  return (
    <div className='stack'>
      <section className='panel'>
        <header><h2 className='mono'>shenma:templates:{id.replaceAll('.', ':')}</h2><span className='grow' /><CopyButton text={text} /></header>
        <Editor
          value={text}
          onChange={change}
          language='json'
          label={t.tabRaw}
        />
      </section>
      {problem !== '' && <p className='note bad' role='status'>{problem}</p>}
    </div>
  )
}
