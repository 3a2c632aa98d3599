import { randomUUID } from 'node:crypto'
import { ANYONE } from '../access/caller.ts'
import { ServiceError } from '../base/errors.ts'
import { RejectedEntry } from '../registry/diagnostic.ts'
import { parseTests, type TestCase } from '../registry/kinds/tests-kind.ts'
import { type Bundle } from '../service/bundle.ts'
import { type VersionSelector } from '../service/choose-prompt.ts'
import { listOf, objectOf } from '../base/json.ts'
import { type Cli } from './context.ts'
import { usageError } from './output.ts'
import { openHere } from './local-folder.ts'
import type { Case, RunOne } from './test-suites.ts'

/**
 * Opens a service that serves a folder, in this process. The folder becomes the working directory, so that the folder's `.env` is read.
 * @param trusts whether everything in the folder's `.env` is taken
 * @param warn called about files that are not read
 * @throws CliError
 */
export async function testHere (
  folder: string,
  wish: VersionSelector,
  trusts: boolean,
  warn: (message: string) => void,
  cli: Pick<Cli, 'environment' | 'signal'>
): Promise<{ readonly run: RunOne, close (): Promise<void> }> {
  const { signal } = cli
  const service = await openHere(folder, warn, cli, { asksModels: true, trusts })
  const { generation } = service.registry
  return {
    async run (id, testCase) {
      const read = readCase(id, testCase)
      try {
        const chosen = await service.choosePrompt(generation, ANYONE, id, wish)
        const result = await service.runCase({
          generation,
          caller: ANYONE,
          id,
          chosen,
          testCase: read,
          known: knownOf(testCase),
          requestId: randomUUID(),
          signal
        })
        return { id, ...(chosen.version === undefined ? {} : { version: chosen.version }), ...result, checks: result.checks.map(check => ({ ...check })) }
      } catch (error) {
        if (error instanceof ServiceError && !signal.aborted) return { id, pass: false, checks: [], error: { code: error.code, message: error.message } }
        throw error
      }
    },
    close: () => service.close()
  }
}

/** @throws CliError */
function readCase (id: string, { value, name }: Case): TestCase {
  try {
    return parseTests([value])[0] as TestCase
  } catch (error) {
    if (error instanceof RejectedEntry) throw usageError(`tests of ${id}, ${name}: ${error.message}; aps lint says more`)
    throw error
  }
}

/** The test reads nothing else of a bundle. */
function knownOf ({ known }: Case): Pick<Bundle, 'tools'> | undefined {
  if (known === undefined) return undefined
  const calls = listOf(objectOf(known)['tools']).map(objectOf).filter(({ tool }) => typeof tool === 'string')
  return { tools: calls.map(call => ({ ...call, arguments: objectOf(call['arguments']) })) as Bundle['tools'] }
}
