import { Revealed } from '../../parts/reveal.tsx'
import { duration } from '../../parts/time.ts'
import { t } from '../../text/text.ts'
import { type SessionEvent } from '../follow/session-socket.ts'

/** Shows the results of a plan's checks and their outputs, the latest check first. */
export function Checks ({ events }: { readonly events: readonly SessionEvent[] }) {
  const checks = events.filter(({ event, data }) => event === 'command' && data['check'] !== undefined).toReversed()
  return (
    <>
      {checks.slice(0, 10).map(({ seq, n, data }) => (
        <section key={`${seq}.${n}`} className='panel'>
          <header>
            <h2>{t.checkOf(String(data['check']))}</h2>
            <span className='grow' />
            {typeof data['durationMs'] === 'number' && <span className='quiet num'>{duration(data['durationMs'])}</span>}
            <span className={data['passed'] === true ? 'chip good' : 'chip bad'}>{data['passed'] === true ? t.passed : t.failed}</span>
          </header>
          {typeof data['output'] === 'string' && data['output'] !== '' && (
            <pre className='body text' tabIndex={0} aria-label={t.output}>
              <Revealed text={data['output']} />
            </pre>
          )}
        </section>
      ))}
    </>
  )
}
