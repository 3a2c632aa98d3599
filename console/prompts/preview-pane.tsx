import { useEffect, useRef } from 'react'
import { Link } from 'wouter'
import type { Preview, Source, Span } from '../api/preview.ts'
import { CopyButton } from '../parts/copy-button.tsx'
import { ErrorNote } from '../parts/error-note.tsx'
import { Icon } from '../parts/icons.tsx'
import { Revealed } from '../parts/reveal.tsx'
import { duration, shortTime } from '../parts/time.ts'
import { t } from '../text/text.ts'
import { type Message, nameOf, textOf as said } from './entry.ts'
import type { PreviewState } from './use-preview.ts'

/** The piece of the preview to which the user points, with the index of its message. */
export interface Pointed { readonly message: number, readonly span: Span }

interface PreviewPaneProps {
  readonly state: PreviewState
  readonly pointed: Pointed | undefined
  readonly onPoint: (pointed: Pointed | undefined) => void
  readonly caret: { readonly message: number, readonly offset: number } | undefined
  readonly onAsk: (() => void) | undefined
}

/**
 * Shows the rendered prompt while the author writes. The colour of each piece tells its source, and pointing at a piece shows the
 * expression that wrote it.
 */
export function PreviewPane ({ state, pointed, onPoint, caret, onAsk }: PreviewPaneProps) {
  const { latest, good, goodAt, holes, error, isBusy, renderLive } = state
  const isOld = good !== latest && holes.length === 0
  return (
    <section className='panel' aria-label={t.preview} onMouseLeave={() => { onPoint(undefined) }}>
      <header>
        <h2>{t.preview}</h2>
        {isOld && goodAt !== undefined && <span className='quiet num' title={t.previewOld}>{t.ofTime(shortTime(goodAt))}</span>}
        <span className='grow' />
        {good?.rendered_prompt !== undefined && holes.length === 0 && <CopyButton text={() => textOf(good)} />}
        <button type='button' className='button small' disabled={isBusy} title={t.keyRenderKeys} onClick={() => { void renderLive() }}>{t.renderLive}</button>
        {onAsk !== undefined && (
          <button type='button' className='button small' title={t.keyAskKeys} onClick={onAsk}>
            <Icon name='play' />
            {t.askModel}
          </button>
        )}
      </header>
      <div className='legend'>
        <span className='from variable'>{t.originVariable}</span>
        <span className='from shared'>{t.originShared}</span>
        <span className='from tool'>{t.originTool}</span>
        <span className='from default'>{t.originDefault}</span>
        <span className='from partial'>{t.originPartial}</span>
      </div>
      {error !== undefined && <div className='body'><ErrorNote error={error} /></div>}
      {holes.length > 0 && <p className='hint inside' role='status'>{t.holes(holes.map(hole => `⟨${hole}⟩`).join(', '))}</p>}
      {good?.explain === undefined
        ? <p className='body quiet' role='status'>{latest === undefined ? t.loading : t.previewNone}</p>
        : <Rendered preview={good} isOld={isOld} pointed={pointed} onPoint={onPoint} caret={caret} />}
      {pointed !== undefined && good !== undefined && <SpanFacts pointed={pointed} preview={good} />}
    </section>
  )
}

function textOf ({ rendered_prompt: rendered }: Preview): string {
  return typeof rendered === 'string' ? rendered : JSON.stringify(rendered, null, 2)
}

function Rendered ({ preview, isOld, pointed, onPoint, caret }: {
  readonly preview: Preview
  readonly isOld: boolean
} & Pick<PreviewPaneProps, 'pointed' | 'onPoint' | 'caret'>) {
  const pane = useRef<HTMLDivElement>(null)
  // Arrow keys move between the pieces. The Tab key leaves them all at once.
  const step = (event: React.KeyboardEvent) => {
    if (event.key !== 'ArrowRight' && event.key !== 'ArrowLeft') return
    const pieces = [...pane.current?.querySelectorAll<HTMLElement>('[data-piece]') ?? []]
    const at = pieces.indexOf(document.activeElement as HTMLElement)
    pieces[at + (event.key === 'ArrowRight' ? 1 : -1)]?.focus()
    event.preventDefault()
  }
  // On the way down to the facts, the mouse passes other pieces: the one that was pressed has the focus, and is pointed at again.
  const backToFocused = () => {
    const [message = -1, index = -1] = (document.activeElement as HTMLElement).dataset['piece']?.split(' ').map(Number) ?? []
    const span = preview.explain?.messages[message]?.spans[index]
    if (span !== undefined) onPoint({ message, span })
  }
  useEffect(() => { onPoint(undefined) }, [preview, onPoint])
  let isFirst = true
  return (
    <div ref={pane} className={isOld ? 'body text dim' : 'body text'} onKeyDown={step} onMouseLeave={backToFocused}>
      {(preview.explain?.messages ?? []).map(({ role, placeholder, spans }, message) => (
        <div key={message} className='message'>
          {typeof preview.rendered_prompt !== 'string' && <h3>{role ?? placeholder}</h3>}
          {placeholder !== undefined && conversationOf(preview, message).map((each, index) => (
            <p key={index} className='quiet'>
              {nameOf(each)}: <Revealed text={said(each)} />
            </p>
          ))}
          {spans.map((span, index) => {
            const origin = originOf(span)
            if (origin === 'literal') return <span key={index}><Revealed text={span.text} /></span>
            const isHere = pointed?.span === span || (caret?.message === message && isAround(span, caret.offset))
            const tabIndex = isFirst ? 0 : -1
            isFirst = false
            return (
              <span
                key={index}
                className={`from ${origin}${isHere ? ' here' : ''}`}
                data-piece={`${message} ${index}`}
                role='button'
                tabIndex={tabIndex}
                aria-description={t.originName(origin)}
                onMouseEnter={() => { onPoint({ message, span }) }}
                onFocus={() => { onPoint({ message, span }) }}
              >
                <Revealed text={span.text} />
              </span>
            )
          })}
        </div>
      ))}
    </div>
  )
}

/** The caller's messages, which the rendered prompt has in place of a placeholder. @param at index of the placeholder among the prompt's messages */
function conversationOf ({ rendered_prompt: rendered, explain }: Preview, at: number): readonly Message[] {
  return typeof rendered === 'object' ? rendered.slice(at, at + 1 + rendered.length - (explain?.messages.length ?? 0)) : []
}

function isAround ({ source, partial }: Span, offset: number): boolean {
  return partial === undefined && source !== undefined && offset >= source.from && offset <= source.to
}

type Origin = 'literal' | 'partial' | 'default' | 'variable' | 'shared' | 'tool'

const ORIGINS: Readonly<Record<Source['kind'], Origin>> = { literal: 'literal', default: 'default', variable: 'variable', environ: 'shared', tool: 'tool' }
const RANKS: readonly Origin[] = ['literal', 'partial', 'default', 'variable', 'shared', 'tool']

/** The origin that gives a piece of a rendered prompt its colour. If the piece has several sources, the one that comes last in `RANKS` counts. */
function originOf ({ sources, partial }: Span): Origin {
  const text = partial === undefined ? 'literal' : 'partial'
  return sources.map(({ kind }) => ORIGINS[kind]).reduce<Origin>((most, origin) => RANKS.indexOf(origin) > RANKS.indexOf(most) ? origin : most, text)
}

/** Shows where the piece to which the user points comes from: its sources, and the place of the expression that wrote it. */
function SpanFacts ({ pointed: { message, span }, preview }: { readonly pointed: Pointed, readonly preview: Preview }) {
  const role = preview.explain?.messages[message]?.role ?? ''
  return (
    <dl className='facts foot'>
      {span.sources.map((source, index) => (
        <div key={index} className='contents'>
          <dt>{t.source}</dt>
          <dd className='wrap'><SourceFact source={source} preview={preview} /></dd>
        </div>
      ))}
      <dt>{t.expression}</dt>
      <dd className='wrap'>
        {span.partial === undefined ? `${role}, ` : <><Link href={placeIn(span.partial, span)}>{span.partial}</Link>, </>}
        {t.lineColumn(span.line, span.column)}
      </dd>
    </dl>
  )
}

/** The place of a piece in the editor of the partial that wrote it. */
function placeIn (partial: string, { line, column }: Span): string {
  return `/prompts/${encodeURIComponent(partial)}?line=${line}&column=${column}`
}

function SourceFact ({ source, preview }: { readonly source: Source, readonly preview: Preview }) {
  switch (source.kind) {
    case 'variable': return <><code>{source.path}</code>, {t.asTyped}</>
    case 'environ': return (
      <>
        <Link href={`/environs/${encodeURIComponent(source.key ?? '')}`}><code>{source.key}</code></Link>
        {source.revision !== undefined && <>, {t.revision} <code>{source.revision}</code></>}
      </>
    )
    case 'default': return <>{t.originDefault}{source.path !== undefined && <> {t.of} <code>{source.path}</code></>}</>
    case 'tool': {
      const call = preview.explain?.calls[source.call ?? -1]
      return (
        <>
          <Link href={`/tools/${encodeURIComponent(source.tool ?? '')}`}><code>{source.tool}</code></Link>
          {call !== undefined && (
            <>
              <code className='quiet'>{JSON.stringify(call.arguments) ?? ''}</code>
              {' '}
              {t.outcome(call.outcome)}
              ,
              {' '}
              {duration(call.durationMs)}
            </>
          )}
        </>
      )
    }
    default: return <>{t.originLiteral}</>
  }
}
