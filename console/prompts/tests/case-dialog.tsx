import { useEffect, useRef, useState } from 'react'
import { Link } from 'wouter'
import { ErrorNote } from '../../parts/error-note.tsx'
import { SelectField, TextField } from '../../parts/fields.tsx'
import { t } from '../../text/text.ts'
import { addCase, type Case } from './use-tests.ts'

/** What is expected of an output. `type` is that of an assertion, or `''` for none. */
export interface Expectation { readonly type: string, readonly value: string }

/** A case as it is proposed to the person. */
export interface ProposedCase {
  /** The case without its description and assertions. */
  readonly base: Case
  readonly expectation: Expectation
  /** Whether the output is of a draft: the case is for what is saved. */
  readonly isOfDraft: boolean
  /** The names of what the output was made with and a case does not keep. */
  readonly leftOut: readonly string[]
}

/** The assertions that a form of one field can write. All others are written in the tab of tests. */
const TYPES = ['contains', 'icontains', 'equals', 'starts-with', 'regex', 'is-json', 'llm-rubric', 'not-contains', 'not-llm-rubric']

/** The longest text that an assertion may look for, and the longest description, in UTF-16 units. */
const LONGEST = 10_000
const LONGEST_NAME = 500

/** A dialog that adds a test case to those of a prompt, after the person has looked at what it expects. */
export function CaseDialog ({ id, proposed: { base, expectation, isOfDraft, leftOut }, onClose }: {
  readonly id: string
  readonly proposed: ProposedCase
  readonly onClose: () => void
}) {
  const dialog = useRef<HTMLDialogElement>(null)
  const [description, setDescription] = useState('')
  const [type, setType] = useState(expectation.type)
  const [value, setValue] = useState(expectation.value)
  const [isSaving, setSaving] = useState(false)
  const [error, setError] = useState<unknown>()
  const [saved, setSaved] = useState<number>()
  useEffect(() => { dialog.current?.showModal() }, [])
  const assertion = assertionOf(type, value)
  const save = async () => {
    if (assertion === undefined) return
    setSaving(true)
    setError(undefined)
    try {
      setSaved(await addCase(id, {
        ...description.trim() === '' ? {} : { description: description.trim() },
        ...base,
        assert: assertion
      }))
    } catch (failure) {
      setError(failure)
    } finally {
      setSaving(false)
    }
  }
  return (
    <dialog ref={dialog} aria-labelledby='case-title' onClose={onClose}>
      <form className='stack' onSubmit={event => { event.preventDefault(); void save() }}>
        <h2 id='case-title'>{t.newCase}</h2>
        {saved === undefined
          ? (
            <>
              <TextField id='case-name' label={t.description} most={LONGEST_NAME} value={description} onChange={setDescription} />
              <SelectField id='case-type' label={t.expectation} value={type} onChange={setType}>
                <option value=''>{base['run'] === 'chat' ? t.expectAnswered : t.expectRendered}</option>
                {TYPES.map(each => <option key={each} value={each}>{t.expectationName(each)}</option>)}
              </SelectField>
              {type !== '' && <TextField
                id='case-value'
                label={type === 'is-json' ? t.schemaOfAnswer : t.value}
                rows={4}
                isMono
                most={LONGEST}
                isRequired={type !== 'is-json' && type !== 'equals'}
                value={value}
                onChange={setValue}
                              />}
              {assertion === undefined && <p className='hint bad' role='status'>{t.notReadable}</p>}
              <details>
                <summary className='quiet'>{t.restOfCase}</summary>
                <pre className='text' tabIndex={0} aria-label={t.restOfCase}>{JSON.stringify(base, null, 2)}</pre>
              </details>
              {isOfDraft && <p className='hint'>{t.testsOfSaved}</p>}
              {leftOut.length > 0 && <p className='hint'>{t.caseWithout(leftOut.join(', '))}</p>}
              {error !== undefined && <ErrorNote error={error} />}
              <div className='row'>
                <button className='button primary' disabled={isSaving || assertion === undefined}>{isSaving ? t.saving : t.saveCase}</button>
                <button type='button' className='button plain' onClick={() => { dialog.current?.close() }}>{t.cancel}</button>
              </div>
            </>
            )
          : (
            <>
              <p className='note good' role='status'>{t.caseSaved(saved)}</p>
              <div className='row'>
                <Link className='button' href={`/prompts/${encodeURIComponent(id)}?tab=tests`}>{t.tabTests}</Link>
                <button type='button' className='button plain' onClick={() => { dialog.current?.close() }}>{t.close}</button>
              </div>
            </>
            )}
      </form>
    </dialog>
  )
}

/** The assertions of the case; `undefined` where the value cannot be read. */
function assertionOf (type: string, value: string): readonly object[] | undefined {
  if (type === '') return []
  if (type !== 'is-json') return [{ type, value }]
  if (value.trim() === '') return [{ type }]
  try {
    return [{ type, value: JSON.parse(value) as unknown }]
  } catch {
    return undefined
  }
}
