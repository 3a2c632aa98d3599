import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { extname, join } from 'node:path'
import { ANYONE } from '../access/caller.ts'
import { type JsonPath } from '../base/json-places.ts'
import { type Diagnostic } from '../registry/diagnostic.ts'
import { placed } from '../registry/diagnostic-table.ts'
import { type Generation } from '../registry/generation.ts'
import { type EntryNotice } from '../service/lint/list-notices.ts'
import { isDotpromptFile, keyToFiles } from '../store/directory-paths.ts'
import { pathToKey } from '../store/store.ts'
import { type Cli } from './context.ts'
import { ENTRY_KINDS } from './entries.ts'
import { type Finding } from './lint-format.ts'
import { openHere } from './local-folder.ts'
import { FOLDER_KEYS } from './folder.ts'
import { createPlaceFinder } from './text-places.ts'

const PAGE = 500

const PROMPTS = ['contributes', 'prompts'] as const

/**
 * Checks a folder by the service itself, which runs in this process and changes its working directory into the folder to read its `.env`.
 * @param trusts whether everything in the folder's `.env` is taken
 * @param warn called about files that the service does not read
 * @throws CliError
 */
export async function lintHere (folder: string, trusts: boolean, warn: (message: string) => void, cli: Pick<Cli, 'environment'>): Promise<readonly Finding[]> {
  const service = await openHere(folder, warn, cli, { asksModels: false, trusts })
  try {
    const findings: Finding[] = []
    for (let after = '', isMore = true; isMore;) {
      const notices = await service.listNotices({ generation: service.registry.generation, caller: ANYONE, after, limit: PAGE })
      for (const notice of notices) findings.push(...await findingsOf(notice, folder, service.registry.generation))
      after = notices.at(-1)?.cursor ?? ''
      isMore = notices.length === PAGE
    }
    for (const notice of await service.promptTests.notices(service.registry.generation, ANYONE)) {
      findings.push(...await findingsOf({ ...notice, cursor: '', state: '' }, folder, service.registry.generation))
    }
    return findings
  } finally {
    await service.close()
  }
}

async function findingsOf (notice: EntryNotice, folder: string, generation: Generation): Promise<Finding[]> {
  const { key, within } = sourceOf(notice, generation)
  const file = keyToFiles(key, FOLDER_KEYS).find(each => existsSync(each)) ?? key
  const text = await readFile(file, 'utf8').catch(() => '')
  const find = await placesIn(text, file)
  return notice.diagnostics.map(diagnostic => {
    const { severity, code, message, hint, line, column } = placed(diagnostic)
    const place = find === undefined || isOfFile(diagnostic) ? { line, column } : find(diagnostic, within)
    return { file: join(folder, file), ...place, severity, code, message, hint }
  })
}

/** `undefined` for a file that is neither JSON, YAML nor Dotprompt. */
async function placesIn (text: string, file: string): Promise<ReturnType<typeof createPlaceFinder> | undefined> {
  if (['.json', '.yaml', '.yml'].includes(extname(file))) return createPlaceFinder(text)
  return isDotpromptFile(file) ? await dotpromptPlaces(text, file) : undefined
}

/** Lines count from the file's beginning only where it could not be parsed, else from that of one of the entry's texts. */
function isOfFile ({ code, line }: Diagnostic): boolean {
  return (code === 'VALUE_INVALID' || code === 'ROLE_NESTED') && line !== undefined
}

function startsIn<T> (read: () => readonly T[]): readonly T[] {
  try {
    return read()
  } catch {
    return []
  }
}

async function dotpromptPlaces (text: string, file: string): Promise<ReturnType<typeof createPlaceFinder> | undefined> {
  const { readDotprompt } = await import('../store/read-dotprompt.ts')
  const starts = startsIn(() => readDotprompt(text, file).starts)
  return ({ messageIndex = 0, part, line, column = 1 }) => {
    const start = starts.find(each => each.message === messageIndex && each.part === part)?.place ?? { line: 1, column: 1 }
    if (line === undefined) return { line: 1, column: 1 }
    return { line: start.line + line - 1, column: line === 1 ? start.column + column - 1 : column }
  }
}

/** A prompt of an extension is a part of the extension's entry. @returns its key, and the path in its value */
function sourceOf ({ key, cursor, id = '' }: EntryNotice, { prompts, extensions }: Generation): { readonly key: string, readonly within: JsonPath } {
  if (key !== undefined) return { key, within: [] }
  const kind = ENTRY_KINDS.find(({ name }) => cursor.startsWith(`${name}/`))
  if (kind?.key === 'templates' && prompts.get(id)?.entry.origin === 'extension') {
    for (const [extension, { definition }] of extensions) {
      const index = definition.prompts.findIndex(prompt => `${definition.name}.${String(prompt['name'])}` === id)
      if (index !== -1) return { key: pathToKey(extension, `${FOLDER_KEYS.prefix}extensions:`), within: [...PROMPTS, index] }
    }
  }
  return { key: pathToKey(id, `${FOLDER_KEYS.prefix}${kind?.key ?? ''}:`), within: [] }
}
