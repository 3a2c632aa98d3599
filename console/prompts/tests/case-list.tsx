import { ErrorNote } from '../../parts/error-note.tsx'
import { Revealed } from '../../parts/reveal.tsx'
import { t } from '../../text/text.ts'
import { type Case, hasPassed, nameOf, type Outcome } from './use-tests.ts'

/** Lists the test cases of a prompt, each with its result and the reasons for the result. */
export function CaseList ({ cases, outcomes }: { readonly cases: readonly Case[], readonly outcomes: ReadonlyMap<number, Outcome> }) {
  return (
    <ul className='cases'>
      {cases.map((testCase, index) => {
        const outcome = outcomes.get(index)
        return (
          <li key={index}>
            <div className='row'>
              <State outcome={outcome} />
              <span className='grow wrap'><Revealed text={nameOf(testCase, index)} /></span>
              {outcome !== undefined && outcome !== 'running' && 'result' in outcome && <span className='quiet num'>{outcome.result.durationMs} ms</span>}
            </div>
            {outcome !== undefined && outcome !== 'running' && <Why outcome={outcome} />}
          </li>
        )
      })}
    </ul>
  )
}

function State ({ outcome }: { readonly outcome: Outcome | undefined }) {
  if (outcome === undefined) return <span className='chip'>{t.caseNotRun}</span>
  if (outcome === 'running') return <span className='chip' role='status'>{t.caseRunning}</span>
  return hasPassed(outcome) === true ? <span className='chip good'>{t.casePassed}</span> : <span className='chip bad'>{t.caseFailed}</span>
}

function Why ({ outcome }: { readonly outcome: Exclude<Outcome, 'running'> }) {
  if ('error' in outcome) return <ErrorNote error={outcome.error} />
  const { checks, error, output } = outcome.result
  return (
    <>
      {error !== undefined && <p className='hint bad wrap'><Revealed text={error.message} /> <code>{error.code}</code></p>}
      {checks.filter(({ pass, reason }) => !pass || reason !== '').map(({ type, pass, reason }, index) => (
        <p key={index} className={pass ? 'hint wrap' : 'hint bad wrap'}>
          <code>{type}</code>
          {' '}
          <Revealed text={reason} />
        </p>
      ))}
      {output !== undefined && <details><summary className='quiet'>{t.output}</summary><div className='text'><Revealed text={output} /></div></details>}
    </>
  )
}

/** Shows how many test cases have passed and how many have failed, once all have run. */
export function Summary ({ cases, outcomes }: { readonly cases: readonly Case[], readonly outcomes: ReadonlyMap<number, Outcome> }) {
  const known = cases.map((_, index) => hasPassed(outcomes.get(index))).filter(passed => passed !== undefined)
  if (known.length < cases.length || known.length === 0) return null
  const failed = known.filter(passed => !passed).length
  return <span className={failed === 0 ? 'chip good' : 'chip bad'} role='status'>{t.testsSummary(known.length - failed, failed)}</span>
}
