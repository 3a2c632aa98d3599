import { useState } from 'react'
import { Editor } from '../edit/editor.tsx'
import { t } from '../text/text.ts'
import { type Workpiece } from './use-draft.ts'

/** The tab that edits all settings of a prompt except its texts, as JSON. */
export function SettingsTab ({ piece: { entry, edit } }: { readonly piece: Workpiece }) {
  const [text, setText] = useState(() => JSON.stringify(entry.settings, null, 2))
  const [problem, setProblem] = useState('')
  const change = (value: string) => {
    setText(value)
    try {
      const settings: unknown = JSON.parse(value)
      if (typeof settings !== 'object' || settings === null || Array.isArray(settings)) throw new Error(t.settingsObject)
      setProblem('')
      const { messages, userPrompt, prompt, ...rest } = settings as Record<string, unknown>
      if (JSON.stringify(rest) !== JSON.stringify(entry.settings)) edit({ ...entry, settings: rest })
    } catch (error) {
      setProblem(String(error instanceof Error ? error.message : error))
    }
  }
  return (
    <div className='stack'>
      <section className='panel'>
        <header><h2>{t.tabSettings}</h2><span className='quiet'>description, parameters, defaults, returns, supports</span></header>
        <Editor
          value={text}
          onChange={change}
          language='json'
          label={t.tabSettings}
        />
      </section>
      {problem !== '' && <p className='note bad' role='status'>{problem}</p>}
    </div>
  )
}
