import { useQuery } from '@tanstack/react-query'
import { useSearchParams } from 'wouter'
import { useMay } from '../../api/caller.ts'
import { api, take } from '../../api/client.ts'
import { type Preview, previewPrompt } from '../../api/preview.ts'
import { ErrorNote } from '../../parts/error-note.tsx'
import { useKeptText } from '../../parts/kept-text.ts'
import { lazyPart } from '../../parts/lazy-part.tsx'
import { t } from '../../text/text.ts'
import { readTried } from '../tried.ts'
import { entryFrom, nameOf, readableForm, storedForm, textOf, triedBy } from '../entry.ts'
import { type Workpiece } from '../use-draft.ts'
import { useReleases } from './use-releases.ts'

const Difference = lazyPart(async () => (await import('../../edit/difference.tsx')).Difference)

/**
 * The tab that shows two versions of a prompt side by side, and both versions rendered with the same values. A link names the two; what is
 * chosen here is there again after another tab, or after the page was loaded anew.
 */
export function CompareTab ({ id, piece }: { readonly id: string, readonly piece: Workpiece }) {
  const [search, setSearch] = useSearchParams()
  const mayWrite = useMay('write')
  const versions = useReleases(id).data?.value.versions ?? []
  const [a, keepA] = useKeptText('compared before')
  const [b, keepB] = useKeptText('compared after')
  const names = { a: search.get('a') ?? (a || 'latest'), b: search.get('b') ?? (b || 'draft') }
  const choose = (side: 'a' | 'b', name: string) => {
    ({ a: keepA, b: keepB })[side](name)
    setSearch(before => new URLSearchParams({ ...Object.fromEntries(before), [side]: name }))
  }
  return (
    <div className='stack'>
      <div className='row wrap-row'>
        {(['a', 'b'] as const).map(side => (
          <select
            key={side}
            className='field auto'
            aria-label={side === 'a' ? t.before : t.after}
            value={names[side]}
            onChange={event => { choose(side, event.target.value) }}
          >
            <option value='draft'>{t.yourDraft}</option>
            <option value='latest'>latest</option>
            {versions.map(({ n }) => <option key={n} value={n}>{t.versionOf(n)}</option>)}
          </select>
        ))}
      </div>
      <Sides id={id} piece={piece} names={[names.a, names.b]} mayRender={mayWrite} />
    </div>
  )
}

/** Two texts of a prompt side by side, and what they become with the values that were tried last. @param names `draft`, `latest` or a version */
export function Sides ({ id, piece, names: [a, b], mayRender }: {
  readonly id: string
  readonly piece: Workpiece
  readonly names: readonly [string, string]
  readonly mayRender: boolean
}) {
  const draft = JSON.stringify(storedForm(piece.entry))
  const query = useQuery({
    queryKey: ['registry', 'compare', id, a, b, mayRender, draft],
    queryFn: async () => await Promise.all([a, b].map(name => sideOf(id, name, piece, mayRender)))
  })
  const [before, after] = query.data ?? []
  return (
    <div className='stack'>
      {query.error !== null && <ErrorNote error={query.error} onRetry={() => { void query.refetch() }} />}
      {query.isPending && <p className='quiet loading' role='status'>{t.loading}</p>}
      {before !== undefined && after !== undefined && (
        <>
          <h2>{t.tabText}</h2>
          <Difference before={before.text} after={after.text} labels={[before.name, after.name]} />
          {mayRender && <><h2>{t.renderedWith}</h2><Difference before={before.rendered} after={after.rendered} labels={[before.name, after.name]} /></>}
        </>
      )}
    </div>
  )
}

async function sideOf (id: string, name: string, piece: Workpiece, mayRender: boolean) {
  const stored = name === 'draft'
    ? storedForm(piece.entry)
    : name === 'latest'
      ? piece.stored?.prompt ?? {}
      : (await take(api.GET('/api/prompts/{id}/versions/{n}', {
          params: {
            path: {
              id,
              n: Number(name)
            }
          }
        }))).entry
  const title = name === 'draft' ? t.yourDraft : name === 'latest' ? 'latest' : t.versionOf(Number(name))
  const entry = entryFrom(stored)
  const rendered = mayRender
    ? await previewPrompt(id, {
      prompt: stored,
      ...triedBy(entry, readTried(id)),
      tools: 'known',
      known: undefined
    }, AbortSignal.timeout(10_000))
    : undefined
  return { name: title, text: readableForm(entry), rendered: rendered === undefined ? '' : renderedText(rendered) }
}

function renderedText ({ rendered_prompt: rendered, diagnostics }: Preview): string {
  if (rendered === undefined) return diagnostics.map(({ message }) => message).join('\n')
  return typeof rendered === 'string' ? rendered : rendered.map(message => `--- ${nameOf(message)}\n${textOf(message)}`).join('\n')
}
