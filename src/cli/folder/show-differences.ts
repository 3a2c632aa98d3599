import { createTwoFilesPatch, FILE_HEADERS_ONLY } from 'diff'
import { type ApiClient } from '../api-client.ts'
import { draftOf } from '../entries/draft.ts'
import { storedText } from '../entries/entry-text.ts'
import { type Output } from '../output.ts'
import { type Difference } from './compare.ts'
import { remoteValue } from './remote-value.ts'

/** The longest time, in ms, that the search for the differences of two texts can take. */
const TIMEOUT = 2000

/**
 * Prints the differences of a folder and a service as one patch.
 * @param direction `push` shows the folder's text as the new one, `pull` the service's text
 */
export async function showDifferences (differences: readonly Difference[], direction: 'push' | 'pull', api: ApiClient, output: Output): Promise<void> {
  for (const difference of differences) {
    const here = textHere(difference)
    const there = await textThere(difference, api)
    const [before, after] = direction === 'push' ? [there, here] : [here, there]
    const name = difference.local?.file ?? difference.name
    const oldName = before === '' ? '/dev/null' : `a/${name}`
    const newName = after === '' ? '/dev/null' : `b/${name}`
    const options = { context: 3, headerOptions: FILE_HEADERS_ONLY, timeout: TIMEOUT }
    const patch = createTwoFilesPatch(oldName, newName, before, after, undefined, undefined, options)
    await output.diff(patch ?? `--- a/${name}\n+++ b/${name}\n`)
  }
}

function textHere ({ kind, local }: Difference): string {
  return local === undefined ? '' : draftOf(kind, kind.read(storedText(local.entry))).text
}

async function textThere ({ kind, remote }: Difference, api: ApiClient): Promise<string> {
  return remote === undefined ? '' : draftOf(kind, (await remoteValue(api, remote)).value).text
}
