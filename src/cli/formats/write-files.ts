import { access, mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { type Json, stringifyJson } from '../../base/json.ts'
import { jsonToYaml } from '../../store/directory/json-to-yaml.ts'
import { keyToFiles } from '../../store/directory/directory-paths.ts'
import { pathToKey, type StoreKeys } from '../../store/keys.ts'
import { CliError, EXIT } from '../exit-codes.ts'

/** An entry that is to be written as a file. */
export interface FolderEntry {
  /** The folder of the entry's kind: `templates`, `versions` or `releases`. */
  readonly kind: string
  /** The id of the entry, with dots between its parts. */
  readonly id: string
  readonly value: Json
}

const KEYS: StoreKeys = { prefix: 'shenma:', kinds: ['templates', 'versions', 'releases'].map(key => ({ key })) }

/**
 * Writes entries as YAML files of a folder.
 * @param overwrites whether existing files are replaced; if not, and one exists, nothing is written
 * @returns the paths of the files, relative to the folder
 * @throws CliError that names the existing files, or an id that cannot be a file name
 */
export async function writeEntries (folder: string, entries: readonly FolderEntry[], overwrites: boolean): Promise<readonly string[]> {
  const files = entries.map(({ kind, id, value }) => {
    const [json, yaml] = keyToFiles(pathToKey(id, `${KEYS.prefix}${kind}:`), KEYS)
    if (json === undefined || yaml === undefined) throw new CliError(EXIT.NO, `nothing was written: no file can have the id "${id}"`)
    const text = jsonToYaml(stringifyJson(value))
    return text === undefined ? { file: json, text: `${stringifyJson(value, 2)}\n` } : { file: yaml, text }
  })
  const present = overwrites ? [] : (await Promise.all(files.map(async ({ file }) => await access(join(folder, file)).then(() => [file], () => [])))).flat()
  if (present.length > 0) throw new CliError(EXIT.NO, `nothing was written: ${folder} has ${present.join(', ')} already; --overwrite replaces them`)
  for (const { file, text } of files) {
    await mkdir(dirname(join(folder, file)), { recursive: true })
    await writeFile(join(folder, file), text)
  }
  return files.map(({ file }) => file)
}
