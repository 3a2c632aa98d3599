import { mkdir, realpath, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, extname, join, sep } from 'node:path'
import { type Json, stringifyJson } from '../../base/json.ts'
import { type ApiClient } from '../api-client.ts'
import { draftOf } from '../entries/draft.ts'
import { type EntryKind, tagOf } from '../entries/entry-kinds.ts'
import { isDotpromptFile, isInside, keyToFiles } from '../../store/directory/directory-paths.ts'
import { pathToKey } from '../../store/keys.ts'
import { type Difference } from './compare.ts'
import { type Step } from './push.ts'
import { FOLDER_KEYS } from './read-folder.ts'
import { remoteValue } from './remote-value.ts'

/**
 * Plans a pull: which files are written and removed. @param prune whether the file of an entry that the service does not have is removed
 */
export function planPull (differences: readonly Difference[], prune: boolean): readonly Step[] {
  return differences.flatMap((difference): Step[] => {
    const { local, remote, known } = difference
    if (remote === undefined) {
      if (!prune) return []
      return [{ what: 'remove', difference, ...(local?.tag === known ? {} : { conflict: 'it was never there, or was edited here' }) }]
    }
    if (local === undefined) return [{ what: 'create', difference }]
    // A change that only the folder has is not overwritten: the next push sends it.
    if (remote.tag === known) return []
    if (local.tag === known) return [{ what: 'change', difference }]
    const conflict = known === undefined ? 'it differs here, and was not pushed or pulled from there' : 'it was edited on both sides'
    return [{ what: 'change', difference, conflict }]
  })
}

/**
 * Writes a service's value of an entry into the entry's file, in the form that the file has; a new file is YAML. Removes the file of an entry
 * that the service does not have.
 * @param root the folder, a path without symbolic links
 * @throws Error with the reason why the entry cannot be written
 */
export async function pullEntry (root: string, { kind, id, local, remote }: Difference, api: ApiClient): Promise<void> {
  if (remote === undefined) return await rm(join(root, local?.file ?? ''))
  const { value, isWhole } = await remoteValue(api, remote)
  if (!isWhole) throw new Error('the service does not tell it whole: it has a credential in clear, or other entries below it')
  const { file, text } = written(kind, id, value, local?.file)
  await makeFolder(root, dirname(file))
  const target = join(root, file)
  await writeFile(`${target}.${process.pid}~`, text)
  await rename(`${target}.${process.pid}~`, target)
  if (local !== undefined && local.file !== file) await rm(join(root, local.file))
}

/** Makes a folder below the root, one part of the path after the other, so that none is made behind a link that leads outside. */
async function makeFolder (root: string, folder: string): Promise<void> {
  let made = root
  for (const part of folder.split(sep)) {
    made = join(made, part)
    await mkdir(made).catch((error: NodeJS.ErrnoException) => { if (error.code !== 'EEXIST') throw error })
    if (!isInside(root, await realpath(made))) throw new Error('its folder is a link that leads outside')
  }
}

function written (kind: EntryKind, id: string, value: Json, present: string | undefined): { readonly file: string, readonly text: string } {
  if (present !== undefined && isDotpromptFile(present)) {
    throw new Error(`${present} is a file of Dotprompt, which is changed where it lies; aps import dotprompt makes YAML of it`)
  }
  const [json, yaml] = keyToFiles(pathToKey(id, `${FOLDER_KEYS.prefix}${kind.key}:`), FOLDER_KEYS)
  if (json === undefined || yaml === undefined) throw new Error('no file can have its name')
  const asJson = { file: json, text: `${stringifyJson(value, 2)}\n` }
  if (present !== undefined && extname(present) === '.json') return asJson
  const draft = draftOf(kind, value)
  if (draft.extension === '.json') return asJson
  if (draft.extension === '.md' && kind.file !== undefined && tagOf(kind, draft.text) === tagOf(kind, stringifyJson(value))) {
    return { file: present !== undefined && extname(present) === '.md' ? present : join(yaml.slice(0, -'.yaml'.length), kind.file), text: draft.text }
  }
  return draft.extension === '.yaml' ? { file: present !== undefined && extname(present) !== '.md' ? present : yaml, text: draft.text } : asJson
}
