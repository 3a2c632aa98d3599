import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { extname, join } from 'node:path'
import pLimit from 'p-limit'
import { ANYONE } from '../access/caller.ts'
import { type JsonPath } from '../base/json-places.ts'
import { parseJson } from '../base/json.ts'
import { inOneLine } from '../base/text.ts'
import { type Diagnostic, RejectedEntry } from '../registry/diagnostic.ts'
import { placed } from '../registry/diagnostic-table.ts'
import { type Generation } from '../registry/generation.ts'
import { TESTS } from '../registry/kinds/release-kind.ts'
import { parseTests } from '../registry/kinds/tests-kind.ts'
import { type EntryNotice } from '../service/lint/list-notices.ts'
import { isDotpromptFile, keyToFiles } from '../store/directory-paths.ts'
import { pathToKey } from '../store/store.ts'
import { type ApiClient } from './api-client.ts'
import { type Cli } from './context.ts'
import { ENTRY_KINDS, storedText } from './entries.ts'
import { FOLDER_KEYS, type LocalEntry, readFolder } from './folder.ts'
import { CliError, EXIT, type Output } from './output.ts'
import { createPlaceFinder } from './text-places.ts'

export type LintFormat = 'text' | 'json' | 'github'

/** @param api of the service with whose entries the folder is checked; without one the folder is checked alone @throws CliError */
export async function lintFolder (folder: string, api: ApiClient | undefined, trusts: boolean, format: LintFormat, output: Output, cli: Cli): Promise<void> {
  const warnings: string[] = []
  const warn = (message: string): void => { warnings.push(message) }
  const found = api === undefined ? await lintHere(folder, trusts, warn, cli) : await lintThere(folder, api, warn)
  const findings = found.toSorted((one, other) => one.file < other.file ? -1 : one.file > other.file ? 1 : one.line - other.line)
  for (const warning of warnings) await output.words(`warning: ${warning}`)
  await printFindings(findings, format, output)
  const count = (severity: string) => findings.filter(finding => finding.severity === severity).length
  const [errors, others] = [count('error'), count('warning')]
  if (errors > 0) throw new CliError(EXIT.NO, `${errors} ${errors === 1 ? 'error' : 'errors'}, ${others} ${others === 1 ? 'warning' : 'warnings'}`)
  await output.words(others === 0 ? 'no errors' : `no errors, ${others} ${others === 1 ? 'warning' : 'warnings'}`)
}

const PAGE = 500

const PROMPTS = ['contributes', 'prompts'] as const

/** By the service's own notices, which have more of a place than is told over HTTP. @throws CliError */
async function lintHere (folder: string, trusts: boolean, warn: (message: string) => void, cli: Cli): Promise<readonly Finding[]> {
  const { openFolderService } = await import('./local.ts')
  const service = await openFolderService(folder, trusts, warn, cli)
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

/** The fields of lint requests; tests of prompts are checked here instead. */
const FIELDS: ReadonlyMap<string, string> = new Map([
  ['templates', 'prompt'], ['extensions', 'extension'], ['agents', 'agent'], ['skills', 'skill'], ['plans', 'plan']
])

/** The service parses one entry after the other, and lets only a few requests wait. */
const AT_A_TIME = 4

/** Together with the entries registered there. @throws CliError */
async function lintThere (folder: string, api: ApiClient, warn: (message: string) => void): Promise<readonly Finding[]> {
  const { root, entries, problems } = await readFolder(folder, warn)
  const unread = problems.map((problem): Finding => {
    const [file = '', ...message] = problem.split(': ')
    return { file: join(folder, file), line: 1, column: 1, severity: 'error', code: 'VALUE_INVALID', message: message.join(': '), hint: '' }
  })
  const limit = pLimit(AT_A_TIME)
  const all = [...entries.values()]
  const tests = await Promise.all(all.filter(({ kind }) => kind.key === TESTS).map(entry => lintTests(entry, root, folder)))
  const found = await Promise.all(all.filter(({ kind }) => FIELDS.has(kind.key)).map(entry => limit(() => askedOf(entry, root, folder, api))))
  return [...unread, ...found.flat(), ...tests.flat()]
}

async function askedOf ({ kind, id, file, entry }: LocalEntry, root: string, folder: string, api: ApiClient): Promise<Finding[]> {
  const value = parseJson(storedText(entry))
  const { diagnostics } = await api.ask('post', '/api/lint', {}, { [FIELDS.get(kind.key) as string]: value, id: kind.key === 'templates' ? id : undefined })
  const find = kind.key !== 'templates' || extname(file) === '.md' ? undefined : createPlaceFinder(await readFile(join(root, file), 'utf8'))
  return diagnostics.map(({ severity, code, message, hint, ...place }): Finding => ({
    file: join(folder, file), ...find?.(place) ?? { line: 1, column: 1 }, severity: severity as Finding['severity'], code, message, hint
  }))
}

async function lintTests ({ file, entry }: LocalEntry, root: string, folder: string): Promise<Finding[]> {
  try {
    parseTests(parseJson(storedText(entry)))
    return []
  } catch (error) {
    if (!(error instanceof RejectedEntry)) throw error
    const find = createPlaceFinder(['.json', '.yaml', '.yml'].includes(extname(file)) ? await readFile(join(root, file), 'utf8') : '')
    return error.diagnostics.map(diagnostic => {
      const { severity, code, message, hint } = placed(diagnostic)
      return { file: join(folder, file), ...find(diagnostic), severity, code, message, hint }
    })
  }
}

interface Finding {
  /** Relative to the user's working directory. */
  readonly file: string
  readonly line: number
  readonly column: number
  readonly severity: 'error' | 'warning' | 'hint'
  readonly code: string
  readonly message: string
  readonly hint: string
}

const COMMANDS = { error: 'error', warning: 'warning', hint: 'notice' } as const

async function printFindings (findings: readonly Finding[], format: LintFormat, output: Output): Promise<void> {
  if (output.wantsJson || format === 'json') return await output.json(findings.map(finding => ({ ...finding })))
  for (const finding of findings) await output.text(format === 'github' ? annotationOf(finding) : lineOf(finding))
}

function lineOf ({ file, line, column, severity, code, message, hint }: Finding): string {
  return inOneLine(`${file}:${line}:${column}: ${severity}: ${message} (${code})${hint === '' ? '' : `; ${hint}`}`)
}

/** https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands */
export function annotationOf ({ file, line, column, severity, code, message, hint }: Finding): string {
  const place = `file=${property(file)},line=${line},col=${column}`
  return `::${COMMANDS[severity]} ${place},title=${property(code)}::${data(hint === '' ? message : `${message}; ${hint}`)}`
}

function data (text: string): string {
  return text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A')
}

function property (text: string): string {
  return data(text).replaceAll(':', '%3A').replaceAll(',', '%2C')
}
