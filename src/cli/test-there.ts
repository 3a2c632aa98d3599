import { objectOf } from '../base/json.ts'
import { type ApiClient, ApiError, apiPath } from './api-client.ts'
import { EXIT } from './output.ts'
import { type RunOne } from './test-suites.ts'

/** @param label without one the served version is tested */
export function testThere (api: ApiClient, label: string | undefined): RunOne {
  const search = label === undefined ? '' : `?${new URLSearchParams({ label }).toString()}`
  return async (id, { value, known }) => {
    try {
      const path = `${apiPath('api', 'prompts', id, 'tests', 'run')}${search}`
      return objectOf(await api.post(path, { case: value, known }))
    } catch (error) {
      // An error that is not about this case, such as a missing right, would make every case fail.
      if (!(error instanceof ApiError) || ![EXIT.NO, EXIT.USAGE].includes(error.exitCode as 1)) throw error
      return { id, pass: false, checks: [], error: { code: error.code, message: error.message } }
    }
  }
}
