import { apiPath, type ApiClient } from '../api-client.ts'
import { ApiError } from '../api-error.ts'
import { EXIT } from '../exit-codes.ts'
import { objectOf } from '../json-members.ts'
import { type RunOne } from './run-suites.ts'

/** Has a service run cases on the prompts that it has. @param label means the version to test; without one, what is served is tested */
export function testThere (api: ApiClient, label: string | undefined): RunOne {
  const search = label === undefined ? '' : `?${new URLSearchParams({ label }).toString()}`
  return async (id, { value, known }) => {
    try {
      const path = `${apiPath('api', 'prompts', id, 'tests', 'run')}${search}`
      return objectOf(await api.post(path, { case: value, ...(known === undefined ? {} : { known }) }))
    } catch (error) {
      // A token without the right, or a service that is gone, fails all cases.
      if (!(error instanceof ApiError) || ![EXIT.NO, EXIT.USAGE].includes(error.exitCode as 1)) throw error
      return { id, pass: false, checks: [], error: { code: error.code, message: error.message } }
    }
  }
}
