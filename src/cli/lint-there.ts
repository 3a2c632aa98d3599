import { readFile } from 'node:fs/promises'
import { extname, join } from 'node:path'
import pLimit from 'p-limit'
import { type JsonObject, listOf, objectOf, parseJson, textOf } from '../base/json.ts'
import { type ApiClient } from './api-client.ts'
import { storedText } from './entries.ts'
import { TESTS } from '../registry/kinds/release-kind.ts'
import { type Finding } from './lint-format.ts'
import { type LocalEntry, readFolder } from './folder.ts'
import { createPlaceFinder } from './text-places.ts'
import { RejectedEntry } from '../registry/diagnostic.ts'
import { placed } from '../registry/diagnostic-table.ts'
import { parseTests } from '../registry/kinds/tests-kind.ts'

/** The fields of lint requests; tests of prompts are checked here instead. */
const FIELDS: ReadonlyMap<string, string> = new Map([
  ['templates', 'prompt'], ['extensions', 'extension'], ['agents', 'agent'], ['skills', 'skill'], ['plans', 'plan']
])

/** The service parses one entry after the other, and lets only a few requests wait. */
const AT_A_TIME = 4

/** Together with the entries registered there. @throws CliError */
export async function lintThere (folder: string, api: ApiClient, warn: (message: string) => void): Promise<readonly Finding[]> {
  const { root, entries, problems } = await readFolder(folder, warn)
  const unread = problems.map((problem): Finding => {
    const [file = '', ...message] = problem.split(': ')
    return { file: join(folder, file), line: 1, column: 1, severity: 'error', code: 'VALUE_INVALID', message: message.join(': '), hint: '' }
  })
  const limit = pLimit(AT_A_TIME)
  const all = [...entries.values()]
  const tests = await Promise.all(all.filter(({ kind }) => kind.key === TESTS).map(entry => lintTests(entry, root, folder)))
  const found = await Promise.all(all.filter(({ kind }) => FIELDS.has(kind.key)).map(entry => limit(() => findingsOf(entry, root, folder, api))))
  return [...unread, ...found.flat(), ...tests.flat()]
}

async function findingsOf ({ kind, id, file, entry }: LocalEntry, root: string, folder: string, api: ApiClient): Promise<Finding[]> {
  const value = parseJson(storedText(entry))
  const { diagnostics } = objectOf(await api.post('/api/lint', { [FIELDS.get(kind.key) as string]: value, id: kind.key === 'templates' ? id : undefined }))
  const find = extname(file) === '.md' ? undefined : createPlaceFinder(await readFile(join(root, file), 'utf8'))
  return listOf(diagnostics).map(objectOf).map((diagnostic): Finding => {
    const { severity, code, message, hint } = diagnostic
    const place = find === undefined || kind.key !== 'templates' ? { line: 1, column: 1 } : placeOf(diagnostic, find)
    return {
      file: join(folder, file),
      ...place,
      severity: textOf(severity) as Finding['severity'],
      code: textOf(code),
      message: textOf(message),
      hint: textOf(hint)
    }
  })
}

function placeOf (
  { line, column, messageIndex, part, member }: JsonObject,
  find: ReturnType<typeof createPlaceFinder>
): { readonly line: number, readonly column: number } {
  if (line === undefined) return { line: 1, column: 1 }
  return find({
    line: Number(line),
    column: column === undefined ? undefined : Number(column),
    messageIndex: messageIndex === undefined ? undefined : Number(messageIndex),
    part: part === undefined ? undefined : Number(part),
    member: typeof member === 'string' ? member : undefined
  })
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
