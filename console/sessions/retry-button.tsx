import { useRef, useState } from 'react'
import { useLocation } from 'wouter'
import { api, take } from '../api/client.ts'
import { ErrorNote } from '../parts/error-note.tsx'
import { Revealed } from '../parts/reveal.tsx'
import { t } from '../text/text.ts'
import { type Facts, isInDoubt, record, type Retry, retryOf, type Step } from './audit.ts'
import { callWords } from './sentences.ts'
import { partsOf } from './words.ts'

/** How many calls the question names; it says how many more there are. */
const MOST = 20

const PAGE = 1000

/** Tries a failed session again, once the user has read what that does, and what was done that may be done once more. */
export function RetryButton ({ id, definition }: { readonly id: string, readonly definition: string }) {
  const dialog = useRef<HTMLDialogElement>(null)
  // What an attempt that failed in the middle has reached: the next one goes on there, and what it sends counts once.
  const reached = useRef<{ readonly key: string, fork?: string }>({ key: '' })
  const [, go] = useLocation()
  const [retry, setRetry] = useState<Retry>()
  const [error, setError] = useState<unknown>()
  const [isBusy, setBusy] = useState(false)
  const doing = async (work: () => Promise<void>) => {
    try {
      setBusy(true)
      setError(undefined)
      await work()
    } catch (failure) {
      setError(failure)
    } finally {
      setBusy(false)
    }
  }
  const ask = () => doing(async () => {
    reached.current = { key: crypto.randomUUID() }
    setRetry(retryOf(await readAudit(id)))
    dialog.current?.showModal()
  })
  const tryAgain = (wanted: Retry) => doing(async () => {
    const next = wanted.way === 'start' ? await startAgain(definition, wanted.start, reached.current.key) : await forkBefore(id, wanted, reached.current)
    dialog.current?.close()
    go(`/sessions/${next}`)
  })
  return (
    <>
      {error !== undefined && retry === undefined && <ErrorNote error={error} />}
      <button type='button' className='button' disabled={isBusy} onClick={() => { void ask() }}>{t.retrySession}</button>
      <dialog ref={dialog} aria-labelledby='retry-title'>
        {retry !== undefined && (
          <div className='stack'>
            <h2 id='retry-title'>{t.retryTitle}</h2>
            <What retry={retry} definition={definition} />
            {error !== undefined && <ErrorNote error={error} />}
            <div className='row'>
              <button type='button' className='button' onClick={() => { dialog.current?.close() }}>{t.no}</button>
              <button type='button' className='button primary' disabled={isBusy} onClick={() => { void tryAgain(retry) }}>{t.retryYes}</button>
            </div>
          </div>
        )}
      </dialog>
    </>
  )
}

function What ({ retry: { way, text, done }, definition }: { readonly retry: Retry, readonly definition: string }) {
  const doubtful = done.filter(isInDoubt).length
  return (
    <>
      <p>{way === 'say' ? t.retrySay : way === 'fork' ? t.retryFork : t.retryStart(definition)}</p>
      {way === 'say' && <p className='said pre'><Revealed text={text} /></p>}
      <p className='quiet'>{t.retryStays}</p>
      {done.length === 0
        ? <p>{t.retryNothing}</p>
        : (
          <div>
            <p>{t.retryDone}</p>
            <ul className='bullets'>
              {done.slice(0, MOST).map(call => (
                <li key={call.id}>
                  <Revealed text={callWords(call)} />{isInDoubt(call) && <> <span className='chip warn'>{t.nobodyKnows}</span></>}
                </li>
              ))}
            </ul>
            {done.length > MOST && <p className='quiet'>{t.retryMore(done.length - MOST)}</p>}
          </div>
          )}
      {doubtful > 0 && <p className='note warn'>{t.retryDoubt(doubtful)}</p>}
    </>
  )
}

async function readAudit (id: string): Promise<readonly Step[]> {
  const steps: Step[] = []
  for (let page: readonly Step[] | undefined; page === undefined || page.length === PAGE;) {
    const query = { after: steps.at(-1)?.seq ?? 0, limit: PAGE }
    page = await take(api.GET('/api/sessions/{id}/audit', { params: { path: { id }, query } })) as unknown as readonly Step[]
    steps.push(...page)
  }
  return steps
}

/** A copy of the session up to the last words, which are said again; where it was no words, the copy waits. @returns its id */
async function forkBefore (id: string, { upTo, text, way }: Retry, reached: { readonly key: string, fork?: string }): Promise<string> {
  const next = reached.fork ??= (await take(api.POST('/api/sessions/{id}/fork', { params: { path: { id }, query: { upTo } } }))).id
  const params = { path: { id: next }, header: { 'idempotency-key': reached.key, prefer: 'respond-async' } as never }
  if (way === 'say') await take(api.POST('/api/sessions/{id}/input', { params, body: { text } }))
  return next
}

/** @param start what the session began with, as its audit has it @returns the id of the new one */
async function startAgain (definition: string, { input, setting, commands }: Facts, key: string): Promise<string> {
  const { kind, name } = partsOf(definition)
  const header = { 'idempotency-key': key, prefer: 'respond-async' } as never
  const said = record(input)
  if (kind === 'plans') {
    const { goal, report, mode, fix } = said
    const { workspace, confirm } = record(setting)
    const body = { goal: goal || undefined, report: report || undefined, mode, fix, workspace, confirm, profile: name } as never
    return (await take(api.POST('/api/plans', { params: { header }, body })) as { readonly id: string }).id
  }
  if (kind === 'skills') {
    const { prompt, parameters, terminal, target, autoContinue, maxSteps } = record(record(setting)['skill'])
    const params = Object.fromEntries((Array.isArray(parameters) ? parameters : []).map(record).map(each => [String(each['name']), each['value']]))
    const execution = target === '' && terminal !== 'manual' ? 'manual' : record(commands)['isAuto'] === true ? 'auto' : undefined
    const body = { skillId: name, terminalSessionId: terminal, params, prompt, autoContinue, maxSteps, execution } as never
    return (await take(api.POST('/api/skills/start', { params: { header }, body }))).data.skillSessionId
  }
  return (await take(api.POST('/api/agents/{id}/sessions', { params: { path: { id: name }, header } })) as { readonly id: string }).id
}
