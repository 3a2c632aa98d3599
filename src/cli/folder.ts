import { access, readFile, realpath, rename, stat, writeFile } from 'node:fs/promises'
import { basename, dirname, extname, join, resolve } from 'node:path'
import pLimit from 'p-limit'
import { type Json, type JsonObject, objectOf, parseJson, stringifyJson, textOf } from '../base/json.ts'
import { RejectedEntry } from '../registry/diagnostic.ts'
import { createTrueFolders, listDirectory, readKey } from '../store/directory-read.ts'
import { isDotpromptFile, isValueFile, keyToFiles } from '../store/directory-paths.ts'
import { keyToPath, kindPrefix, StoreError, type StoreKeys } from '../store/store.ts'
import { type ApiClient } from './api-client.ts'
import { ENTRY_KINDS, type CliKind, type EntryText, entryTextOf, publish, tagOf, tellDiagnostics } from './entries.ts'
import { CliError, EXIT, type Output, usageError } from './output.ts'

/** A refused entry does not stop the others. @throws CliError at the end, if any was refused */
export async function applyEntries (
  kind: CliKind,
  path: string,
  id: string | undefined,
  { api, output }: { readonly api: ApiClient, readonly output: Output }
): Promise<void> {
  const replies: Json[] = []
  let refused = 0
  for (const [each, entry] of await entriesOf(kind, path, id, output)) {
    try {
      const { json, isNew } = await publish(api, kind, each, entry)
      replies.push({ ...objectOf(json), outcome: isNew ? 'created' : 'replaced' })
      if (output.wantsJson) continue
      await tellDiagnostics(output, objectOf(json)['diagnostics'])
      await output.words(`${isNew ? 'created' : 'replaced'} ${kind.noun} ${textOf(objectOf(json)['id'])}`)
    } catch (error) {
      // An error that is not about this entry, such as a missing right, would make every entry fail.
      if (!(error instanceof CliError) || error.exitCode !== EXIT.NO) throw error
      refused++
      await output.words(`not ${each}: ${error.message}`)
    }
  }
  if (output.wantsJson) await output.json(replies)
  if (refused > 0) throw new CliError(EXIT.NO, `${refused} of them were refused`)
}

async function entriesOf (
  kind: CliKind,
  path: string,
  id: string | undefined,
  output: Output
): Promise<ReadonlyArray<readonly [id: string, entry: EntryText]>> {
  const found = await stat(path).catch((error: NodeJS.ErrnoException) => { throw usageError(`${path} cannot be read: ${error.code ?? error.message}`) })
  if (found.isFile()) return [[id ?? idIn(kind, resolve(path)), entryTextOf(kind, await readFile(path, 'utf8'), extname(path))]]
  if (id !== undefined) throw usageError('--id is for a file: a folder has several')
  const whole = resolve(path)
  const hasOne = await stat(join(whole, kind.key)).then(stats => stats.isDirectory(), () => false)
  if (!hasOne && basename(whole) !== kind.key) throw usageError(`${path}: expected a folder called ${kind.key}, or with one`)
  const { entries, problems } = await readFolder(hasOne ? whole : dirname(whole), message => { void output.words(`warning: ${message}`) }, [kind])
  if (problems.length > 0) throw usageError(problems.join('; '))
  return [...entries.values()].map(({ id: each, entry }) => [each, entry])
}

/** `agents/team/desk.yaml` is `team.desk`; outside a kind's folder, the name of the file, or of a SKILL.md's folder. */
function idIn ({ key, file }: CliKind, path: string): string {
  const place = basename(path) === file ? dirname(path) : path.slice(0, path.length - extname(path).length)
  const segments = place.split(/[/\\]/)
  const start = segments.lastIndexOf(key)
  return start === -1 || start === segments.length - 1 ? segments.at(-1) as string : segments.slice(start + 1).join('.')
}

/** Stored under a key of its own, which a prompt of an extension has not. */
export interface RemoteEntry {
  readonly kind: CliKind
  readonly id: string
  /** Without quotes; `''` for a value not shown as a whole, and, for a push, where what is stored cannot be used. */
  readonly tag: string
  /** `missing`: lost by the store, held by the service; `broken`: unusable, an earlier version is served. */
  readonly stored: string
}

export interface Difference {
  readonly name: string
  readonly kind: CliKind
  readonly id: string
  readonly local: LocalEntry | undefined
  readonly remote: RemoteEntry | undefined
  /** Served, although the store has lost it; for a push it is not there. */
  readonly isHeld: boolean
  /** The tag when both were last equal; a side with another tag now was edited since. `undefined` if they never were. */
  readonly known: string | undefined
}

export interface Comparison {
  readonly folder: Folder
  readonly differences: readonly Difference[]
  readonly same: KnownTags
  readonly known: KnownTags
  /** Only at the service, in modules of which the folder has nothing: other people's, and not touched. */
  readonly others: number
}

/** One listing for each kind. @param direction a pull also takes modules that the folder does not have @throws CliError */
export async function compareFolder (
  path: string,
  url: string,
  { api, output }: { readonly api: ApiClient, readonly output: Output },
  direction: 'push' | 'pull'
): Promise<Comparison> {
  const warnings: string[] = []
  const [folder, remote] = await Promise.all([readFolder(path, message => { warnings.push(message) }), listRemote(api)])
  for (const warning of warnings) await output.words(`warning: ${warning}`)
  if (folder.problems.length > 0) throw usageError(`aps lint says more of what cannot be read:\n${folder.problems.join('\n')}`)
  const known = await readKnownTags(folder.root, url)
  const modules = modulesOf(folder)
  const differences: Difference[] = []
  const same = new Map<string, string>()
  let others = 0
  for (const name of [...new Set([...folder.entries.keys(), ...remote.keys()])].sort()) {
    const [local, listed] = [folder.entries.get(name), remote.get(name)]
    const { kind, id } = (local ?? listed) as LocalEntry | RemoteEntry
    const isHeld = listed?.stored === 'missing'
    const there = direction === 'push' ? asStored(listed) : listed
    if (local === undefined && there === undefined) continue
    if (local !== undefined && local.tag === there?.tag) same.set(name, local.tag)
    else if (local === undefined && direction === 'push' && !known.has(name) && !modules.has(moduleName(kind, id))) others++
    else differences.push({ name, kind, id, local, remote: there, isHeld, known: known.get(name) })
  }
  return { folder, differences, same, known, others }
}

/** What the store has lost is not there, and what is broken there differs from everything. */
function asStored (entry: RemoteEntry | undefined): RemoteEntry | undefined {
  if (entry?.stored === 'missing') return undefined
  return entry?.stored === 'broken' ? { ...entry, tag: '' } : entry
}

/** All but prompts that are parts of extensions. */
export async function listRemote (api: ApiClient): Promise<ReadonlyMap<string, RemoteEntry>> {
  const listings = await Promise.all(ENTRY_KINDS.map(async kind => {
    const rows = await api.list(`/api/${kind.name}`, { limit: '1000', detail: 'true', type: kind.key === 'extensions' ? 'all' : undefined })
    const owned = rows.map(objectOf).filter(({ etag }) => etag !== undefined || kind.key === 'environs')
    return owned.map(({ id, etag, stored }): RemoteEntry => ({ kind, id: textOf(id), tag: textOf(etag).replaceAll('"', ''), stored: textOf(stored) }))
  }))
  return new Map(listings.flat().map(entry => [nameOf(entry.kind, entry.id), entry]))
}

export function modulesOf ({ entries }: Folder): ReadonlySet<string> {
  return new Set([...entries.values()].map(({ kind, id }) => moduleName(kind, id)))
}

/** Kind and first part of the id, as `prompts/review`. */
export function moduleName (kind: CliKind, id: string): string {
  return nameOf(kind, id.split('.', 1)[0] as string)
}

/** Its name begins with a dot, so that no service takes it for an entry. */
const FILE = '.aps.json'

/** As each was when last equal on both sides; a side with another tag now was edited since. */
type KnownTags = ReadonlyMap<string, string>

/** @param url one folder can be pushed to several services */
async function readKnownTags (root: string, url: string): Promise<KnownTags> {
  return new Map(Object.entries(objectOf((await readAll(root))[url])).map(([name, tag]) => [name, textOf(tag)]))
}

/** Not written if it has the same tags already. */
export async function writeKnownTags (root: string, url: string, known: KnownTags): Promise<void> {
  const all = await readAll(root)
  const sorted = Object.fromEntries([...known].sort(([one], [other]) => one < other ? -1 : 1))
  if (stringifyJson(sorted) === stringifyJson(all[url] ?? {})) return
  const file = join(root, FILE)
  await writeFile(`${file}.${process.pid}`, `${stringifyJson({ ...all, [url]: sorted }, 2)}\n`)
  await rename(`${file}.${process.pid}`, file)
}

async function readAll (root: string): Promise<JsonObject> {
  const text = await readFile(join(root, FILE), 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '{}'
    throw error
  })
  try {
    return objectOf(parseJson(text))
  } catch {
    throw usageError(`${join(root, FILE)} is no JSON: remove it, and what differs is taken for somebody's edit`)
  }
}

const OPEN_FILES = 32

/** The prefix does not matter: the keys never leave the process. */
export const FOLDER_KEYS: StoreKeys = { prefix: 'shenma:', kinds: ENTRY_KINDS }

export interface LocalEntry {
  readonly kind: CliKind
  readonly id: string
  readonly file: string
  readonly entry: EntryText
  /** As the service would give it. */
  readonly tag: string
}

export interface Folder {
  /** With symbolic links resolved. */
  readonly root: string
  readonly entries: ReadonlyMap<string, LocalEntry>
  readonly problems: readonly string[]
}

function nameOf ({ name }: Pick<CliKind, 'name'>, id: string): string {
  return `${name}/${id}`
}

/** As a service that serves the folder. @throws CliError when it cannot be read */
export async function readFolder (path: string, warn: (message: string) => void, kinds: readonly CliKind[] = ENTRY_KINDS): Promise<Folder> {
  const root = await realpath(path).catch((error: NodeJS.ErrnoException) => { throw usageError(`${path} cannot be read: ${error.code ?? error.message}`) })
  const listing = await listDirectory(root, FOLDER_KEYS.prefix, { ...FOLDER_KEYS, kinds }, warn).catch((error: unknown) => {
    throw error instanceof StoreError ? usageError(error.message) : error
  })
  const folders = createTrueFolders(root)
  const limit = pLimit(OPEN_FILES)
  const entries: LocalEntry[] = []
  const problems: string[] = []
  await Promise.all(listing.keys.toSorted().map(key => limit(async () => {
    const kind = kinds.find(each => key.startsWith(kindPrefix(FOLDER_KEYS.prefix, each.key))) as CliKind
    const [file, value] = await Promise.all([fileOf(root, key), readKey(folders, key, FOLDER_KEYS)])
    if (value.kind === 'bad') problems.push(`${file}: the value ${value.reason}`)
    if (value.kind !== 'text') return
    try {
      entries.push({ kind, id: keyToPath(key, kindPrefix(FOLDER_KEYS.prefix, kind.key)), file, entry: sentAs(file, value.text), tag: tagOf(kind, value.text) })
    } catch (error) {
      if (!(error instanceof RejectedEntry)) throw error
      problems.push(`${file}: ${error.message}`)
    }
  })))
  const named = entries.map(entry => [nameOf(entry.kind, entry.id), entry] as const)
  return { root, entries: new Map(named.sort(([one], [other]) => one < other ? -1 : 1)), problems: problems.sort() }
}

async function fileOf (root: string, key: string): Promise<string> {
  const files = keyToFiles(key, FOLDER_KEYS)
  for (const file of files) if (await access(join(root, file)).then(() => true, () => false)) return file
  return files[0] as string
}

/** A SKILL.md is sent as a text; YAML and Dotprompt became JSON when the file was read. */
function sentAs (file: string, text: string): EntryText {
  return isValueFile(file.slice(file.lastIndexOf('/') + 1)) || isDotpromptFile(file) ? { text, type: 'application/json' } : { text, type: 'text/plain' }
}
