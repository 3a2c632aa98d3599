import { useState } from 'react'
import { Link } from 'wouter'
import { useCaller, useMay } from '../../api/caller.ts'
import { api, take } from '../../api/client.ts'
import { queries } from '../../api/queries.ts'
import { Empty } from '../../parts/empty.tsx'
import { ErrorNote } from '../../parts/error-note.tsx'
import { Loaded } from '../../parts/loading.tsx'
import { Revealed } from '../../parts/reveal.tsx'
import { Rows, Table } from '../../parts/table.tsx'
import { When } from '../../parts/when.tsx'
import { t } from '../../text/text.ts'
import { lastDays, numbersInWords, useUsage } from '../../usage/usage.ts'
import type { Workpiece } from '../use-draft.ts'
import { isRefusal, replaceText } from './changes.ts'
import { LabelForm, type Plan } from './label-form.tsx'
import { meaningOf } from './meaning.ts'
import { type Releases, shareOf, useReleases, useRequests, wordsOf } from './use-releases.ts'
import { meaningInWords } from './words.ts'

/** What was counted of calls of a prompt today and in 30 days, by version or by label. */
function useCounted (id: string, by: 'version' | 'label') {
  const { data: today, error: one } = useUsage({ ...lastDays(1), prompt: id, by })
  const { data: month, error: other } = useUsage({ ...lastDays(30), prompt: id, by })
  const spans = today === undefined || month === undefined ? undefined : [[1, today.rows], [30, month.rows]] as const
  return { ofToken: month?.ofToken, error: one ?? other, spans }
}

type Spans = ReturnType<typeof useCounted>['spans']

/** The numbers of a version or a label, or that there are none; nothing until it is known. */
function Counted ({ spans, by, name }: { readonly spans: Spans, readonly by: 'version' | 'label', readonly name: string }) {
  if (spans === undefined) return null
  const counted = spans.flatMap(([days, rows]) => {
    const row = rows.find(each => each[by] === name)
    return row === undefined ? [] : [{ days, row }]
  })
  return (
    <div className='quiet num'>
      {counted.length === 0 ? t.nothingCounted : counted.map(({ days, row }) => <div key={days}>{t.countedIn(days)}: {numbersInWords(row)}</div>)}
    </div>
  )
}

/** The tab with the versions of a prompt, what its labels mean, the form that changes one of them, and the moves of labels so far. */
export function ReleasesTab ({ id, piece }: { readonly id: string, readonly piece: Workpiece }) {
  const query = useReleases(id)
  const [versions, labels] = [useCounted(id, 'version'), useCounted(id, 'label')]
  const mayWrite = useMay('write')
  const [plan, setPlan] = useState<Plan>()
  return (
    <Loaded query={query}>
      {({ value }) => (
        <div className='stack'>
          {!value.recorded && <p className='note'>{t.notRecorded}</p>}
          {versions.error !== null && <ErrorNote error={versions.error} />}
          {versions.ofToken !== undefined && <p className='note'>{t.countedOfToken(versions.ofToken)}</p>}
          {plan !== undefined && (
            <LabelForm key={`${plan.kind} ${plan.label}`} id={id} piece={piece} plan={plan} releases={value} onClose={() => { setPlan(undefined) }} />
          )}
          <div className='split aside'>
            <Versions id={id} releases={value} piece={piece} mayWrite={mayWrite} counted={versions.spans} />
            <Labels id={id} releases={value} counted={labels.spans} onPlan={mayWrite ? setPlan : undefined} />
          </div>
          <Moves moves={value.moves} />
        </div>
      )}
    </Loaded>
  )
}

function Versions ({ id, releases, piece, mayWrite, counted }: {
  readonly id: string
  readonly releases: Releases
  readonly piece: Workpiece
  readonly mayWrite: boolean
  readonly counted: Spans
}) {
  const [error, setError] = useState<unknown>()
  const [refused, setRefused] = useState<number>()
  const newestFirst = [...releases.versions].sort((a, b) => b.n - a.n)
  const act = async (call: () => Promise<unknown>) => {
    try {
      setError(undefined)
      setRefused(undefined)
      await call()
    } catch (failure) {
      setError(failure)
    }
    await queries.invalidateQueries({ queryKey: ['registry'] })
  }
  const restore = (n: number) => act(async () => {
    try {
      await replaceText(id, n, { value: piece.stored?.prompt, tag: piece.storedTag }, releases)
    } catch (failure) {
      if (!isRefusal(failure)) throw failure
      setRefused(n)
    }
  })
  const freeze = () => act(() => take(api.POST('/api/prompts/{id}/versions', { params: { path: { id } }, body: {} })))
  return (
    <div className='stack'>
      {error !== undefined && <ErrorNote error={error} />}
      {refused !== undefined && (
        <div className='note warn' role='alert'>
          <span className='grow wrap'>{t.savedMeanwhile} <Newest releases={releases} /></span>
          <button type='button' className='button small' onClick={() => { void restore(refused) }}>{t.restoreAnyway}</button>
        </div>
      )}
      {newestFirst.length === 0
        ? <Empty title={t.versionsNone}>{releases.recorded ? t.versionsNoneNext : t.versionsNoneKept}</Empty>
        : (
          <Table columns={[t.version, t.note, [t.made, 'wide'], '']}>
            {newestFirst.map(version => <VersionRow
              key={version.n}
              id={id}
              version={version}
              releases={releases}
              counted={counted}
              onRestore={mayWrite ? () => { void restore(version.n) } : undefined}
                                        />)}
          </Table>
          )}
      {mayWrite && releases.latest === undefined && (
        <div><button type='button' className='button' onClick={() => { void freeze() }}>{t.freeze}</button></div>
      )}
    </div>
  )
}

/** What is stored now: its version, by whom and when it was saved, where that is kept. */
function Newest ({ releases: { versions, latest } }: { readonly releases: Releases }) {
  const version = versions.find(({ n }) => n === latest)
  if (version === undefined) return <>{t.theirsNow}: latest.</>
  return <>{t.versionOf(version.n)}, {version.by}, <When at={version.at} /> <Revealed text={version.note ?? ''} /></>
}

function VersionRow ({ id, version: { n, note, source, from, by, at }, releases, counted, onRestore }: {
  readonly id: string
  readonly version: Releases['versions'][number]
  readonly releases: Releases
  readonly counted: Spans
  readonly onRestore: (() => void) | undefined
}) {
  const isLatest = releases.latest === n
  const labels = Object.entries(releases.labels).flatMap(([label, meaning]) => {
    const share = shareOf(meaning, n)
    return share === undefined ? [] : [{ label, share }]
  })
  return (
    <tr>
      <td className='told'>
        <div className='row wrap-row'>
          <b className='num'>{n}</b>
          {labels.map(({ label, share }) => (
            <span key={label} className={label === releases.unlabelled ? 'chip accent' : 'chip'}>
              {label}
              {share < 100 && ` ${share} %`}
            </span>
          ))}
          {isLatest && <span className={releases.unlabelled === 'latest' ? 'chip accent' : 'chip'}>latest</span>}
        </div>
        <Counted spans={counted} by='version' name={String(n)} />
      </td>
      <td className='wrap'><Revealed text={note ?? (from === undefined ? source ?? '' : t.restoredFrom(from))} /></td>
      <td className='wide quiet'>{by !== '' && `${by}, `}<When at={at} /></td>
      <td className='right'>
        <Link className='button plain small' href={`/prompts/${encodeURIComponent(id)}?tab=compare&a=${n}&b=draft`}>{t.compare}</Link>
        {onRestore !== undefined && !isLatest && <button type='button' className='button plain small' onClick={onRestore}>{t.restore}</button>}
      </td>
    </tr>
  )
}

type Request = NonNullable<ReturnType<typeof useRequests>['data']>[number]

/** Whether a label's last change request is worth a line: one that was moved is among the moves. */
const isTold = ({ status }: Request): boolean => status !== 'completed' && status !== 'cancelled'

/** What is asked for of a label, or was asked for last and refused; with the way to where that is decided, for those who may go there. */
function Asked ({ request }: { readonly request: Request | undefined }) {
  const { name, roles = [] } = useCaller() ?? {}
  const mayApprove = useMay('approve')
  if (request === undefined || !isTold(request)) return null
  const { id, by, at, to, status, word, approvals, approvedBy, problem } = request
  const isOver = status === 'failed' || status === 'expired'
  const words = isOver
    ? t.requestOver(problem?.message ?? status)
    : word === 'testing' ? t.requestTesting : t.requestWaits(approvedBy.length, approvals)
  const place = name === by || roles.includes('admin') ? `/sessions/${id}` : mayApprove && !isOver ? '/approvals' : undefined
  return (
    <div className={isOver ? 'note bad' : 'note warn'} role='status'>
      <div className='grow wrap stack tight'>
        <p>{t.requestOf(by, to === null ? t.nothing : meaningInWords(to))} <When at={at} />. <Revealed text={words} /></p>
        {place !== undefined && <div><Link className='button small' href={place}>{t.requestSee}</Link></div>}
      </div>
    </div>
  )
}

/** What each label means, and what callers without a label get; with the buttons that begin to change it. */
function Labels ({ id, releases, counted, onPlan }: {
  readonly id: string
  readonly releases: Releases
  readonly counted: Spans
  readonly onPlan: ((plan: Plan) => void) | undefined
}) {
  const { labels, moves, unlabelled, latest, before } = releases
  const requests = useRequests(id, Object.keys(releases.looks).length > 0).data ?? []
  const newest = requests.filter((each, index) => requests.findIndex(({ label }) => label === each.label) === index)
  const serves = meaningOf(releases, unlabelled) ?? latest ?? 'latest'
  return (
    <section className='panel' aria-labelledby='labels'>
      <header>
        <h2 id='labels'>{t.labels}</h2><span className='grow' />
        {onPlan !== undefined && (
          <button type='button' className='button small' onClick={() => { onPlan({ kind: 'new', label: '' }) }}>{t.newLabel}</button>
        )}
      </header>
      <ul>
        {Object.entries(labels).map(([label, meaning]) => {
          const move = moves.find(each => each.label === label)
          return (
            <li key={label} className='item stack tight'>
              <div className='row wrap-row'>
                <span className={label === unlabelled ? 'chip accent' : 'chip'}>{label}</span> <b className='num'>{meaningInWords(meaning)}</b>
                {move !== undefined && <span className='quiet'>{move.by}, <When at={move.at} /></span>}
              </div>
              <Counted spans={counted} by='label' name={label} />
              <Asked request={newest.find(each => each.label === label)} />
              {onPlan !== undefined && (
                <div className='row wrap-row'>
                  {before[label] !== undefined && (
                    <button type='button' className='button small' aria-label={t.rollBackOf(label)} onClick={() => { onPlan({ kind: 'back', label }) }}>
                      {t.rollBack}
                    </button>
                  )}
                  <button type='button' className='button small' aria-label={t.moveLabelOf(label)} onClick={() => { onPlan({ kind: 'move', label }) }}>
                    {t.moveLabel}
                  </button>
                  <button
                    type='button'
                    className='button plain small'
                    aria-label={t.removeLabelOf(label)}
                    onClick={() => { onPlan({ kind: 'remove', label }) }}
                  >
                    {t.remove}
                  </button>
                </div>
              )}
            </li>
          )
        })}
        {newest.filter(each => isTold(each) && meaningOf(releases, each.label) === undefined).map(request => (
          <li key={request.id} className='item stack tight'><div><span className='chip'>{request.label}</span></div><Asked request={request} /></li>
        ))}
        {Object.keys(labels).length === 0 && <li className='item quiet'>{t.noLabels}</li>}
        <li className='item stack tight'>
          <div className='row wrap-row'>
            <span className='quiet'>{t.withoutLabelGet}</span>
            <span className='chip accent'>{meaningOf(releases, unlabelled) === undefined ? 'latest' : unlabelled}</span>
            {serves !== 'latest' && <b className='num'>{meaningInWords(serves)}</b>}
          </div>
          {meaningOf(releases, unlabelled) === undefined && <Counted spans={counted} by='label' name='' />}
        </li>
      </ul>
    </section>
  )
}

/** Lists the recorded moves of a prompt's labels, the latest first, each with its time, its author, the versions before and after, and its note. */
function Moves ({ moves }: { readonly moves: Releases['moves'] }) {
  if (moves.length === 0) return null
  return (
    <section>
      <h2 className='above'>{t.moves}</h2>
      <div className='panel'>
        <Rows columns={[t.changed, t.by, t.label, t.version, [t.note, 'wide']]}>
          {moves.map(({ label, from, to, at, by, note, approvedBy, override }, index) => (
            <tr key={index}>
              <td className='quiet'><When at={at} /></td>
              <td className='wrap'>{by}{approvedBy?.[0] !== undefined && `, ${t.agreedBy(approvedBy.join(', '))}`}</td>
              <td><span className='chip'>{label}</span></td>
              <td className='num'>{wordsOf(from)} → {wordsOf(to)}</td>
              <td className='wide quiet wrap'><Revealed text={[note, override && t.withoutLook(override)].filter(Boolean).join('; ')} /></td>
            </tr>
          ))}
        </Rows>
      </div>
    </section>
  )
}
