import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { extname, join } from 'node:path'
import { ANYONE } from '../../access/caller.ts'
import { type JsonPath } from '../../base/json-places.ts'
import { type Diagnostic } from '../../registry/diagnostic/diagnostic.ts'
import { placed } from '../../registry/diagnostic/diagnostic-table.ts'
import { type Generation } from '../../registry/generation/generation.ts'
import { type Notice } from '../../service/lint/list-notices.ts'
import { keyToFiles } from '../../store/directory/directory-paths.ts'
import { pathToKey } from '../../store/keys.ts'
import { ENTRY_KINDS } from '../entries/entry-kinds.ts'
import { type Finding } from './lint-format.ts'
import { openHere } from './open-here.ts'
import { FOLDER_KEYS } from './read-folder.ts'
import { createPlaceFinder } from './text-places.ts'

/** As many notices are asked for at a time. */
const PAGE = 500

/** The part of an extension that brings prompts. */
const PROMPTS = ['contributes', 'prompts'] as const

/**
 * What the service says of a folder: the service itself, in this process, which goes into the folder for its `.env`.
 * @param warn told of files that are not read
 * @throws CliError
 */
export async function lintHere (folder: string, warn: (message: string) => void): Promise<readonly Finding[]> {
  const service = await openHere(folder, warn, { asksModels: false })
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

async function findingsOf (notice: Notice, folder: string, generation: Generation): Promise<Finding[]> {
  const { key, within } = sourceOf(notice, generation)
  const file = keyToFiles(key, FOLDER_KEYS).find(each => existsSync(each)) ?? key
  const text = await readFile(file, 'utf8').catch(() => '')
  const find = ['.json', '.yaml', '.yml'].includes(extname(file)) ? createPlaceFinder(text) : undefined
  return notice.diagnostics.map(diagnostic => {
    const { severity, code, message, hint, line, column } = placed(diagnostic)
    const place = find === undefined || isOfFile(diagnostic) ? { line, column } : find(diagnostic, within)
    return { file: join(folder, file), ...place, severity, code, message, hint }
  })
}

/** What cannot be read at all has its place in the file as it is. */
function isOfFile ({ code, line }: Diagnostic): boolean {
  return code === 'VALUE_INVALID' && line !== undefined
}

/** The key of what a notice is about, and where in its value: an extension has the prompts that it brings. */
function sourceOf ({ key, cursor, id = '' }: Notice, { prompts, extensions }: Generation): { readonly key: string, readonly within: JsonPath } {
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
