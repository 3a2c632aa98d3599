import { Link } from 'wouter'
import { CopyButton } from '../parts/copy-button.tsx'
import { Revealed } from '../parts/reveal.tsx'
import { duration } from '../parts/time.ts'
import { t } from '../text/text.ts'
import { type Asked } from './approval.ts'

/** All that is decided about, beside the text itself. */
export function ApprovalFacts ({ approval: { effect, definition, owner, session, rule, step, maxSteps, digest }, isInSession }: { readonly approval: Asked, readonly isInSession: boolean }) {
  const login = effect.host === undefined ? undefined : `${effect.user === undefined ? '' : `${effect.user}@`}${effect.host}${effect.port === undefined ? '' : `:${effect.port}`}`
  return (
    <dl className='facts two'>
      {effect.target !== undefined && <><dt>{t.target}</dt><dd className='wrap'><code>{effect.target}</code>{login === undefined ? `, ${t.thisMachine}` : <>, <code>{login}</code>, SSH</>}</dd></>}
      {effect.workspace !== undefined && <><dt>{t.workspace}</dt><dd className='wrap'><code>{effect.workspace}</code></dd></>}
      {effect.folder !== undefined && effect.folder !== '' && <><dt>{t.folder}</dt><dd className='mono wrap'><Revealed text={effect.folder} /></dd></>}
      {effect.kind === 'exec' && <><dt>{t.sandbox}</dt><dd>{effect.host !== undefined ? t.sandboxNone : t.sandboxOf(effect.sandbox ?? '')}, {effect.network === false ? t.networkClosed : t.networkOpen}{effect.timeoutMs !== undefined && `, ${duration(effect.timeoutMs)}`}</dd></>}
      {effect.checks !== undefined && <><dt>{t.checks}</dt><dd>{effect.checks.join(', ')}</dd></>}
      <dt>{t.session}</dt>
      <dd className='wrap'>{isInSession ? definition : <Link href={`/sessions/${session}`}>{definition}</Link>}{owner !== '' && `, ${t.ownedBy(owner)}`}{step !== undefined && `, ${t.stepOf(String(step), String(maxSteps ?? step))}`}</dd>
      <dt>{t.askedBecause}</dt>
      <dd className='wrap'><Revealed text={rule} />{effect.origin === 'fallback' && <b className='alarm'> {t.fallback}</b>}</dd>
      <dt>{t.digest}</dt>
      <dd className='row'><code className='cut'>{digest.slice(0, 12)}…</code><CopyButton text={digest} label={t.copy} /></dd>
    </dl>
  )
}
