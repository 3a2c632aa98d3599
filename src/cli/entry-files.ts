import { access, mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { type Json, objectOf, stringifyJson } from '../base/json.ts'
import { wholeSkillText } from '../registry/kinds/skill-definition.ts'
import { keyToFiles } from '../store/directory-paths.ts'
import { jsonToYaml } from '../store/decode-value.ts'
import { pathToKey, type StoreKeys } from '../store/store.ts'
import type { CliKind } from './entries.ts'
import { CliError, EXIT } from './output.ts'

export interface EntryFile {
  readonly kind: string
  readonly id: string
  readonly value: Json
}

const KEYS: StoreKeys = { prefix: 'shenma:', kinds: ['templates', 'versions', 'releases'].map(key => ({ key })) }

/** Writes nothing if a file exists, unless `overwrites`. @throws CliError that names existing files, or an id that is no file name */
export async function writeEntries (folder: string, entries: readonly EntryFile[], overwrites: boolean): Promise<readonly string[]> {
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

/** SKILL.md, else YAML, or JSON for a value that YAML would not give back the same. */
export function draftOf (kind: CliKind, value: Json): { readonly text: string, readonly extension: '.yaml' | '.json' | '.md' } {
  if (kind.file !== undefined && typeof objectOf(value)['body'] === 'string') return { text: wholeSkillText('', objectOf(value)), extension: '.md' }
  const json = stringifyJson(value, 2)
  const yaml = jsonToYaml(json)
  return yaml === undefined ? { text: `${json}\n`, extension: '.json' } : { text: yaml, extension: '.yaml' }
}
