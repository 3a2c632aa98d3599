import { type ReactNode, useState } from 'react'
import { useMay } from '../api/caller.ts'
import { Editor } from '../edit/editor.tsx'
import { patch } from '../edit/patch.ts'
import { CopyButton } from '../parts/copy-button.tsx'
import { t } from '../text/text.ts'
import { entryFrom, storedForm } from './entry.ts'
import { ParametersForm } from './parameters-form.tsx'
import type { Workpiece } from './use-draft.ts'

/** The tab that edits all settings of a prompt except its texts: the parameters in a form, and all of them as JSON. */
export function SettingsTab ({ piece: { entry, edit, editing } }: { readonly piece: Workpiece }) {
  const mayWrite = useMay('write')
  const json = useJsonText('settings', entry.settings, editing, settings => {
    if (typeof settings !== 'object' || settings === null || Array.isArray(settings)) throw new Error(t.settingsObject)
    const { messages, userPrompt, prompt, ...rest } = settings as Record<string, unknown>
    edit({ ...entry, settings: rest })
  })
  return (
    <div className='split halves'>
      <ParametersForm
        declared={entry.settings['parameters']}
        half={editing.state?.half}
        onHalf={(of, text) => { editing.typeHalf(of, text) }}
        onChange={mayWrite ? parameters => { edit({ ...entry, settings: patch(entry.settings, { parameters }) }) } : undefined}
      />
      <JsonTab json={json} label={t.tabSettings}>
        <h2>{t.tabSettings}</h2><span className='quiet'>description, parameters, defaults, returns, supports</span>
      </JsonTab>
    </div>
  )
}

/** The tab that edits the whole prompt as JSON, in its stored form. */
export function RawTab ({ id, piece: { entry, edit, editing } }: { readonly id: string, readonly piece: Workpiece }) {
  const json = useJsonText('raw', storedForm(entry), editing, parsed => { edit(entryFrom(parsed)) })
  return (
    <JsonTab json={json} label={t.tabRaw}>
      <h2 className='mono'>shenma:templates:{id.replaceAll('.', ':')}</h2><span className='grow' /><CopyButton text={json.text} />
    </JsonTab>
  )
}

interface JsonText {
  readonly text: string
  readonly problem: string
  /** `undefined` while a text that was typed elsewhere cannot be read yet: an edit here would drop it. */
  readonly change: ((text: string) => void) | undefined
}

/**
 * A part of the prompt as JSON that is being typed. It follows the prompt when that changes elsewhere, and a text that cannot be read yet
 * stays with the draft. @param of the editor's name @param take takes what was read @throws Error from `take` for another kind of value
 */
function useJsonText (of: string, value: unknown, editing: Workpiece['editing'], take: (value: unknown) => void): JsonText {
  const half = editing.state?.half?.of === of ? editing.state.half.text : undefined
  const [text, setText] = useState(() => half ?? JSON.stringify(value, null, 2))
  const [problem, setProblem] = useState('')
  const form = JSON.stringify(value)
  const shown = half ?? (formOf(text) === form ? text : JSON.stringify(value, null, 2))
  const change = (next: string) => {
    setText(next)
    try {
      take(JSON.parse(next))
      setProblem('')
    } catch (error) {
      editing.typeHalf(of, next)
      setProblem(String(error instanceof Error ? error.message : error))
    }
  }
  const isElsewhere = editing.state?.half !== undefined && half === undefined
  return { text: shown, problem: half === undefined ? '' : problem, change: isElsewhere ? undefined : change }
}

function formOf (text: string): string | undefined {
  try {
    return JSON.stringify(JSON.parse(text))
  } catch {
    return undefined
  }
}

function JsonTab ({ json: { text, problem, change }, label, children }: { readonly json: JsonText, readonly label: string, readonly children: ReactNode }) {
  return (
    <div className='stack'>
      <section className='panel'>
        <header>{children}</header>
        <Editor value={text} language='json' label={label} {...(change === undefined ? {} : { onChange: change })} />
      </section>
      {problem !== '' && <p className='note bad' role='status'>{problem}</p>}
    </div>
  )
}
