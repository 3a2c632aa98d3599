import { useQuery } from '@tanstack/react-query'
import { type RefObject, useEffect, useRef, useState } from 'react'
import { useMay } from '../../api/caller.ts'
import { api, take } from '../../api/client.ts'
import { Answer } from '../../parts/answer.tsx'
import { CopyButton } from '../../parts/copy-button.tsx'
import { ErrorNote } from '../../parts/error-note.tsx'
import { TextField } from '../../parts/fields.tsx'
import { Icon } from '../../parts/icons.tsx'
import { Revealed } from '../../parts/reveal.tsx'
import { keep, session } from '../../parts/storage.ts'
import { duration, exactTime, number } from '../../parts/time.ts'
import { t } from '../../text/text.ts'
import { useReleases } from '../releases/use-releases.ts'
import type { ProposedCase } from '../tests/case-dialog.tsx'
import { type AnswerState, tokensOf } from './answer-state.ts'
import { type Asked, type Column, FIRST_COLUMN, MOST_COLUMNS, parametersOf, type Settings, type Target, withColumn } from './columns.ts'
import { isAskedPlainly, parameterProblem, type Question, useAnswers } from './use-answers.ts'

export { CaseDialog } from '../tests/case-dialog.tsx'

interface PlaygroundProps {
  readonly question: Question
  /** Whether the prompt is stored, so that it can have versions and tests. */
  readonly isStored: boolean
  /** Whether tools are called for the prompt, by its texts or by its model. */
  readonly hasTools: boolean
  /** Gets the function that asks all columns, for the keys and the button of the preview. */
  readonly askAll: RefObject<() => void>
  readonly onCase: (proposed: ProposedCase) => void
}

/**
 * Asks models, in up to four columns beside each other: each with a version, a label or the draft, a model and parameters of its own. A column
 * that fails or is stopped touches no other.
 */
export function Playground ({ question, isStored, hasTools, askAll, onCase }: PlaygroundProps) {
  const { id, isDraft, entry, tried } = question
  const [columns, setColumns] = useState(() => readColumns(id))
  const { answers, ask, stop, forget } = useAnswers()
  const models = useQuery({ queryKey: ['models'], queryFn: () => take(api.GET('/v1/models')) }).data?.data ?? []
  const place = useRef<HTMLElement>(null)
  const change = (next: readonly Column[]) => {
    setColumns(next)
    keepColumns(id, next)
  }
  const askThese = (chosen: readonly Column[]) => {
    const waiting = chosen.filter(({ key }) => answers.get(key)?.isBusy !== true)
    const at = Date.now()
    change(columns.map(column => waiting.includes(column) ? { ...column, asked: askedOf(column, question, at) } : column))
    place.current?.scrollIntoView({ block: 'nearest' })
    void ask(waiting, question)
  }
  useEffect(() => { askAll.current = () => { askThese(columns) } })
  const isBusy = columns.every(({ key }) => answers.get(key)?.isBusy === true)
  const press = (event: React.KeyboardEvent) => {
    if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey) || event.shiftKey) return
    event.preventDefault()
    event.stopPropagation()
    askThese(columns)
  }
  return (
    <section ref={place} className={columns.length > 1 ? 'panel playground wide-part' : 'panel playground'} aria-label={t.playground} onKeyDown={press}>
      <header>
        <h2>{t.playground}</h2>
        <span className='grow' />
        {columns.length < MOST_COLUMNS && (
          <button type='button' className='button small' onClick={() => { change(withColumn(columns)) }}><Icon name='plus' />{t.addColumn}</button>
        )}
        <button type='button' className='button primary small' title={t.keyRenderKeys} disabled={isBusy} onClick={() => { askThese(columns) }}>
          <Icon name='play' />
          {t.ask}
        </button>
      </header>
      <datalist id='models'>{models.filter(model => !model.id.startsWith('prompt:')).map(model => <option key={model.id} value={model.id} />)}</datalist>
      <div className='columns'>
        {columns.map((column, index) => {
          const answer = answers.get(column.key)
          return (
            <section key={column.key} className='column' aria-label={t.answerOf(index + 1, nameOf(column.target, isDraft))} aria-busy={answer?.isBusy === true}>
              <SettingsForm
                column={column}
                prompt={isStored ? id : undefined}
                isDraft={isDraft}
                onChange={settings => { change(columns.map(other => other === column ? { ...column, ...settings } : other)) }}
                onRemove={columns.length === 1
                  ? undefined
                  : () => {
                      forget(column.key)
                      change(columns.filter(other => other !== column))
                    }}
              />
              {column.target === 'draft' && isDraft && isAskedPlainly(entry) && <p className='hint'>{t.draftPlainly}</p>}
              <AnswerPart
                answer={answer}
                asked={column.asked}
                tried={tried}
                onStop={() => { stop(column.key) }}
                onAsk={() => { askThese([column]) }}
                onCase={isStored ? asked => { onCase(caseOf(asked, answer?.text ?? '', hasTools)) } : undefined}
              />
            </section>
          )
        })}
      </div>
    </section>
  )
}

/** The beginning of the names under which the tab keeps the columns of each prompt, with what was asked last. The answers are not kept. */
const PREFIX = 'prompt-shell.playground.'

function readColumns (id: string): readonly Column[] {
  try {
    const kept = JSON.parse(session.getItem(PREFIX + id) ?? '[]') as readonly Column[]
    return kept.length > 0 ? kept : [FIRST_COLUMN]
  } catch {
    return [FIRST_COLUMN]
  }
}

/** Where the tab has no room for all values, the columns are kept without them. */
function keepColumns (id: string, columns: readonly Column[]): void {
  if (!keep(session, PREFIX + id, JSON.stringify(columns))) keep(session, PREFIX + id, JSON.stringify(columns.map(({ asked, ...settings }) => settings)))
}

function askedOf (settings: Settings, { isDraft, tried: { variables, messages } }: Question, at: number): Asked {
  const read = parametersOf(settings)
  const parameters = 'parameters' in read ? Object.keys(read.parameters).filter(name => name !== 'model') : []
  return { at, target: settings.target, isDraft, model: settings.model.trim(), parameters, variables, messages }
}

function nameOf (target: Target, isDraft: boolean): string {
  return target === 'draft' ? isDraft ? t.yourDraft : t.thisText : /^\d+$/.test(target) ? t.versionOf(Number(target)) : target
}

/** A case with the values of an answer. It is proposed that the answer is JSON again or, for any other, has the same first line. */
function caseOf ({ variables, messages, model, parameters, target, isDraft }: Asked, text: string, hasTools: boolean): ProposedCase {
  const isJson = /^\s*[[{]/.test(text) && isReadable(text)
  const line = text.split('\n').find(each => each.trim() !== '')?.trim() ?? ''
  return {
    base: { run: 'chat', vars: variables, ...model === '' ? {} : { model }, ...hasTools ? { tools: 'live' } : {} },
    expectation: isJson ? { type: 'is-json', value: '' } : { type: line === '' ? '' : 'icontains', value: line.slice(0, LONGEST_LINE) },
    isOfDraft: target === 'draft' && isDraft,
    leftOut: [...parameters, ...messages === undefined ? [] : [t.conversation]]
  }
}

/** How much of an answer's first line a test looks for at first, in UTF-16 units. */
const LONGEST_LINE = 200

function isReadable (json: string): boolean {
  try {
    JSON.parse(json)
    return true
  } catch {
    return false
  }
}

/** @param props `prompt` is the id of a stored prompt, whose versions and labels can be chosen */
function SettingsForm ({ column, prompt, isDraft, onChange, onRemove }: {
  readonly column: Column
  readonly prompt: string | undefined
  readonly isDraft: boolean
  readonly onChange: (settings: Partial<Settings>) => void
  readonly onRemove: (() => void) | undefined
}) {
  const { key, target, model, temperature, maxTokens, others } = column
  const releases = useReleases(prompt ?? '', prompt !== undefined).data?.value
  const labels = Object.keys(releases?.labels ?? {}).map(label => `@${label}`)
  const versions = (releases?.versions ?? []).map(({ n }) => String(n))
  const isKnown = target === 'draft' || target === 'latest' || labels.includes(target) || versions.includes(target)
  const read = parametersOf(column)
  const given = 'parameters' in read ? Object.entries(read.parameters).filter(([name]) => name !== 'model') : []
  return (
    <>
      <div className='row'>
        <select className='field' aria-label={t.askWhat} value={target} onChange={event => { onChange({ target: event.target.value as Target }) }}>
          <option value='draft'>{nameOf('draft', isDraft)}</option>
          {prompt !== undefined && <option value='latest'>{t.latestStored}</option>}
          {labels.map(label => <option key={label}>{label}</option>)}
          {versions.map(n => <option key={n} value={n}>{t.versionOf(Number(n))}</option>)}
          {!isKnown && <option value={target}>{nameOf(target, isDraft)}</option>}
        </select>
        {onRemove !== undefined && (
          <button type='button' className='button plain small' aria-label={t.removeColumn} title={t.removeColumn} onClick={onRemove}>✕</button>
        )}
      </div>
      <input
        className='field'
        aria-label={t.model}
        placeholder={t.modelOfPrompt}
        list='models'
        autoComplete='off'
        spellCheck={false}
        maxLength={512}
        value={model}
        onChange={event => { onChange({ model: event.target.value }) }}
      />
      <details className='parameters'>
        <summary>
          <span className='wrap'>
            {t.parameters} <span className='quiet'>{given.map(([name, value]) => `${name} ${JSON.stringify(value)}`).join(', ')}</span>
          </span>
        </summary>
        <div className='stack tight'>
          <NumberField id={`temperature-${key}`} label='temperature' step='0.1' value={temperature} onChange={value => { onChange({ temperature: value }) }} />
          <NumberField id={`max-tokens-${key}`} label='max_tokens' step='1' value={maxTokens} onChange={value => { onChange({ maxTokens: value }) }} />
          <TextField
            id={`others-${key}`}
            label={t.otherParameters}
            hint={'problem' in read ? <span className='alarm'>{parameterProblem(read.problem)}</span> : undefined}
            rows={2}
            isMono
            value={others}
            onChange={value => { onChange({ others: value }) }}
          />
        </div>
      </details>
    </>
  )
}

function NumberField ({ id, label, step, value, onChange }: {
  readonly id: string
  readonly label: string
  readonly step: string
  readonly value: string
  readonly onChange: (value: string) => void
}) {
  return (
    <div>
      <label htmlFor={id}>{label}</label>
      <input id={id} className='field' type='number' min='0' step={step} value={value} onChange={event => { onChange(event.target.value) }} />
    </div>
  )
}

function AnswerPart ({ answer, asked, tried, onStop, onAsk, onCase }: {
  readonly answer: AnswerState | undefined
  readonly asked: Asked | undefined
  readonly tried: Question['tried']
  readonly onStop: () => void
  readonly onAsk: () => void
  readonly onCase: ((asked: Asked) => void) | undefined
}) {
  const mayWrite = useMay('write')
  const [isRaw, setRaw] = useState(false)
  if (asked === undefined) return <p className='quiet'>{t.notAskedYet}</p>
  if (answer === undefined) {
    return (
      <>
        <p className='note'><span className='grow'>{t.answerGone}</span><button type='button' className='button small' onClick={onAsk}>{t.askAgain}</button></p>
        <Values asked={asked} tried={tried} />
      </>
    )
  }
  const { text, steps, isBusy, error } = answer
  return (
    <>
      <Progress answer={answer} onStop={onStop} onAsk={onAsk} />
      {steps.length > 0 && <ul className='steps'>{steps.map((step, index) => <li key={index} className='quiet'><Revealed text={step} /></li>)}</ul>}
      {(text !== '' || isBusy) && (
        <div className='said'>
          {isRaw ? <p className='pre'><Revealed text={text} /></p> : <Answer text={text} />}
          {isBusy && <span className='caret' />}
        </div>
      )}
      {Object.entries(answer.calls).map(([index, call]) => (
        <p key={index} className='wrap'>{t.wouldCall} <code><Revealed text={`${call.name} ${call.arguments}`} /></code></p>
      ))}
      {error !== undefined && <ErrorNote error={error} onRetry={onAsk} />}
      <Facts answer={answer} />
      <Values asked={asked} tried={tried} />
      {text !== '' && (
        <div className='row wrap-row'>
          <CopyButton text={text} className='button small' />
          <button type='button' className='button small' aria-pressed={isRaw} onClick={() => { setRaw(!isRaw) }}>{t.asItCame}</button>
          {mayWrite && !isBusy && onCase !== undefined && (
            <button type='button' className='button small' onClick={() => { onCase(asked) }}>{t.makeTest}</button>
          )}
        </div>
      )}
    </>
  )
}

/** How far an answer is, and what is to be known before it is read. */
function Progress ({ answer: { text, calls, isBusy, isStopped, error, builtin, finish }, onStop, onAsk }: {
  readonly answer: AnswerState
  readonly onStop: () => void
  readonly onAsk: () => void
}) {
  const isEmpty = text === '' && Object.keys(calls).length === 0
  const state = isBusy ? t.answering : isStopped ? t.stopped : error !== undefined ? t.outcome('failed') : isEmpty ? t.emptyAnswer : t.answered
  return (
    <div className='row wrap-row'>
      <span role='status'>{state}</span>
      {builtin !== undefined && <span className='chip warn'>{builtin === 'script' ? t.isScript : t.isEcho}</span>}
      {finish === 'length' && <span className='chip warn'>{t.cutByLength}</span>}
      {finish === 'content_filter' && <span className='chip warn'>{t.cutByFilter}</span>}
      <span className='grow' />
      {isBusy && <button type='button' className='button small' onClick={onStop}>{t.stop}</button>}
      {isStopped && <button type='button' className='button small' onClick={onAsk}>{t.askAgain}</button>}
    </div>
  )
}

/** The values that were asked with, and whether others stand in the form by now. */
function Values ({ asked: { at, target, isDraft, variables, messages }, tried }: { readonly asked: Asked, readonly tried: Question['tried'] }) {
  const isOther = JSON.stringify([variables, messages]) !== JSON.stringify([tried.variables, tried.messages])
  return (
    <details>
      <summary className='quiet'>
        <span>{t.wasAskedAt(exactTime(at))}, {nameOf(target, isDraft)} {isOther && <span className='chip'>{t.otherValues}</span>}</span>
      </summary>
      <pre className='text' tabIndex={0} aria-label={t.valuesOfAnswer}>{JSON.stringify({ variables, messages }, null, 2)}</pre>
    </details>
  )
}

/** What is known of an answer. What a provider does not tell is said to be unknown, and never 0. */
function Facts ({ answer }: { readonly answer: AnswerState }) {
  const { model, version, firstMs, wholeMs } = answer
  const tokens = tokensOf(answer)
  return (
    <dl className='facts'>
      {firstMs !== undefined && <><dt>{t.firstWord}</dt><dd className='num'>{duration(firstMs)}</dd></>}
      {wholeMs !== undefined && (
        <>
          <dt>{t.wholeAnswer}</dt><dd className='num'>{duration(wholeMs)}</dd>
          <dt>{t.tokens}</dt><dd className='num'>{tokens === undefined ? t.notTold : t.tokenCounts(number(tokens.input), number(tokens.output))}</dd>
        </>
      )}
      {model !== undefined && <><dt>{t.model}</dt><dd className='wrap'><Revealed text={model} /></dd></>}
      {version !== undefined && <><dt>{t.version}</dt><dd className='num'>{version}</dd></>}
    </dl>
  )
}
