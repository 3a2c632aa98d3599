import { Link } from 'wouter'
import { type Preview, type Source } from '../api/preview.ts'
import { duration } from '../parts/time.ts'
import { t } from '../text/text.ts'
import { type Pointed } from './workbench.tsx'

/** Shows where the piece to which the user points comes from: its sources, and the place of the expression that wrote it. */
export function SpanFacts ({ pointed: { message, span }, preview }: { readonly pointed: Pointed, readonly preview: Preview }) {
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
        {span.partial === undefined ? `${role}, ` : <><Link href={`/prompts/${encodeURIComponent(span.partial)}`}>{span.partial}</Link>, </>}
        {t.lineColumn(span.line, span.column)}
      </dd>
    </dl>
  )
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
