import { type ReactNode } from 'react'
import { Link } from 'wouter'
import { useMay } from '../api/caller.ts'
import { CopyButton } from '../parts/copy-button.tsx'
import { Revealed } from '../parts/reveal.tsx'
import { duration } from '../parts/time.ts'
import { ruleInRussian } from '../text/rules-ru.ts'
import { language, t } from '../text/text.ts'
import { type Asked, type Effect } from './approval.ts'

/** Shows everything that a person has to know about an action that waits, except its text. */
export function ApprovalFacts ({ approval, isInSession }: { readonly approval: Asked, readonly isInSession: boolean }) {
  const { effect, rule, digest } = approval
  return (
    <dl className='facts two'>
      {effect.target !== undefined && <Fact name={t.target}><TargetWords effect={effect} /></Fact>}
      {effect.terminal !== undefined && <Fact name={t.terminal}>{t.inThisShell}</Fact>}
      {effect.workspace !== undefined && <Fact name={t.workspace}><code>{effect.workspace}</code></Fact>}
      {effect.folder !== undefined && effect.folder !== '' && <Fact name={t.folder}><span className='mono'><Revealed text={effect.folder} /></span></Fact>}
      {effect.folderUnknown === true && <Fact name={t.folder}><b className='alarm'>{t.folderUnknown}</b></Fact>}
      {effect.kind === 'exec' && <Fact name={t.sandbox}>{boundsOf(effect)}</Fact>}
      {effect.checks?.[0] !== undefined && <Fact name={t.checks}>{effect.checks.join(', ')}</Fact>}
      <Fact name={t.session}><SessionWords approval={approval} isInSession={isInSession} /></Fact>
      <Fact name={t.askedBecause}><Revealed text={inLanguage(rule)} />{effect.origin === 'fallback' && <b className='alarm'> {t.fallback}</b>}</Fact>
      <dt>{t.digest}</dt>
      <dd className='row'><code className='cut'>{digest.slice(0, 12)}…</code><CopyButton text={digest} label={t.copy} /></dd>
    </dl>
  )
}

function Fact ({ name, children }: { readonly name: string, readonly children: ReactNode }) {
  return <><dt>{name}</dt><dd className='wrap'>{children}</dd></>
}

function TargetWords ({ effect: { target, user, host, port } }: { readonly effect: Effect }) {
  if (host === undefined) return <><code>{target}</code>, {t.thisMachine}</>
  return <><code>{target}</code>, <code>{`${user === undefined ? '' : `${user}@`}${host}${port === undefined ? '' : `:${port}`}`}</code>, SSH</>
}

/** The sandbox, the network access and the time limit of a command, in words. */
function boundsOf ({ host, sandbox = '', network, timeoutMs }: Effect): string {
  const words = [host === undefined ? t.sandboxOf(sandbox) : t.sandboxNone, network === false ? t.networkClosed : t.networkOpen]
  return [...words, ...timeoutMs === undefined ? [] : [duration(timeoutMs)]].join(', ')
}

/** Shows which session asks. For a child session, the names of all sessions from the root down to it are shown. */
function SessionWords ({ approval: { path, owner, session, step, maxSteps }, isInSession }: { readonly approval: Asked, readonly isInSession: boolean }) {
  const mayRun = useMay('run')
  const name = path.join(' › ')
  const more = [owner === '' ? '' : t.ownedBy(owner), step === undefined ? '' : t.stepOf(String(step), String(maxSteps ?? step))].filter(word => word !== '')
  return <>{isInSession || !mayRun ? name : <Link href={`/sessions/${session}`}>{name}</Link>}{more.map(word => `, ${word}`)}</>
}

/** The reason why a person is asked, in the language of the console. */
function inLanguage (rule: string): string {
  return language === 'ru' ? ruleInRussian(rule) : rule
}
