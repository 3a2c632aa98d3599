import { type ApiClient, ApiError, apiPath, objectOf } from './api-client.ts'
import { EXIT } from './output.ts'
import { type RunOne } from './test-suites.ts'

/**
 * Makes the function that runs a test case at a service, on the service's own prompts. @param label chooses the version to test; without
 * one the served version is tested
 */
export function testThere (api: ApiClient, label: string | undefined): RunOne {
  const search = label === undefined ? '' : `?${new URLSearchParams({ label }).toString()}`
  return async (id, { value, known }) => {
    try {
      const path = `${apiPath('api', 'prompts', id, 'tests', 'run')}${search}`
      return objectOf(await api.post(path, { case: value, ...(known === undefined ? {} : { known }) }))
    } catch (error) {
      // An error that is not about this case, such as a missing right or an unreachable service, would make every case fail: it ends the command.
      if (!(error instanceof ApiError) || ![EXIT.NO, EXIT.USAGE].includes(error.exitCode as 1)) throw error
      return { id, pass: false, checks: [], error: { code: error.code, message: error.message } }
    }
  }
}
