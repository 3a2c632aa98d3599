import pLimit from 'p-limit'
import { ApiError } from '../api-error.ts'
import { type ApiClient } from '../api-client.ts'
import { CliError, EXIT } from '../exit-codes.ts'
import { type Output } from '../output.ts'
import { moveLabel } from '../prompts/labels.ts'
import { type Folder } from './read-folder.ts'

/** The most labels that are moved at the same time. */
const AT_A_TIME = 8

/**
 * Moves a label, such as `production`, of each prompt of a folder to the version that the folder has.
 * @param versions the new versions that a push has made, by the names of entries; for any other prompt the label moves to the latest
 * version
 * @throws CliError
 */
export async function labelPrompts (
  label: string,
  { entries }: Folder,
  versions: ReadonlyMap<string, number>,
  note: string | undefined,
  { api, output }: { readonly api: ApiClient, readonly output: Output }
): Promise<void> {
  const limit = pLimit(AT_A_TIME)
  const prompts = [...entries].filter(([, { kind }]) => kind.key === 'templates')
  const refusals = (await Promise.all(prompts.map(([name, { id }]) => limit(async () => {
    try {
      await moveLabel(api, id, label, versions.get(name) ?? 'latest', note)
      return []
    } catch (error) {
      if (!(error instanceof ApiError) || error.exitCode !== EXIT.NO) throw error
      return [`${label} of ${name} was not moved: ${error.message}`]
    }
  })))).flat()
  for (const refusal of refusals) await output.words(refusal)
  if (refusals.length > 0) throw new CliError(EXIT.NO, `the label ${label} of ${refusals.length} of ${prompts.length} prompts was not moved`)
  await output.words(`${label} means what the folder has, for ${prompts.length} ${prompts.length === 1 ? 'prompt' : 'prompts'}`)
}
