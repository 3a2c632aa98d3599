import { Icon } from '../../parts/icons.tsx'
import { t } from '../../text/text.ts'
import { CaseList, Summary } from './case-list.tsx'
import { hasPassed, useRuns, useTests } from './use-tests.ts'

/** Runs the tests of a prompt on one version, before a label is moved to this version. Shows nothing for a prompt without tests. */
export function VersionTests ({ id, version }: { readonly id: string, readonly version: number }) {
  const cases = useTests(id).data?.value ?? []
  const { outcomes, run, isRunning } = useRuns(id, version)
  if (cases.length === 0) return null
  const failed = cases.filter((_, index) => hasPassed(outcomes.get(index)) === false)
  return (
    <div className='stack tight'>
      <div className='row wrap-row'>
        <button type='button' className='button small' disabled={isRunning} onClick={() => { void run(cases) }}>
          <Icon name='play' />
          {t.testVersion(version)}
        </button>
        <Summary cases={cases} outcomes={outcomes} />
      </div>
      {failed.length > 0 && <CaseList cases={cases} outcomes={outcomes} />}
    </div>
  )
}
