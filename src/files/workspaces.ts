import { constants, statSync } from 'node:fs'
import { mkdir, open, readdir } from 'node:fs/promises'
import { isAbsolute, join, relative } from 'node:path'
import { arch, platform } from 'node:process'
import { isJsonObject, type JsonObject, listOf, ownField } from '../base/json.ts'
import { errorCode, PRIVATE_FILE, replaceFile } from '../base/durable-files.ts'
import { beginningOf, utf8In } from '../base/text.ts'
import type { OperatorFile, Workspace } from '../config/operator.ts'
import { timeLimit } from '../runtime/deadline.ts'
import { createSlices } from '../runtime/event-loop.ts'
import { applyChange, type ApplyOptions, type ChangePlace, planned, recoverChanges } from './change/apply.ts'
import { type FileAction, parseChange, shownOf, withContents } from './change/requested-change.ts'
import { type ChangeOutcome, Journal } from './change/journal.ts'
import { changedBy, MAX_WHOLE_DIFF, type ReadContent, type Page, pageOf, type ShownFile, type Touched } from './change/diff.ts'
import { dryTurn, type DryTurn, entriesOf } from './change/undo.ts'
import { GLOB_EXPECTED, globOf } from './glob.ts'
import { search, walk } from './search.ts'
import { assertSame, FileRefusal, type OpenFolder, refusalOf, sha256, WorkspaceFiles } from './workspace-files.ts'
import { type MemoryPlace, readMemory, remember } from './memory-files.ts'
import { DEFAULT_WHITELIST, normalisePath, widened } from './path-rules.ts'

/** Lines count from 1, the last included. `most` is in UTF-16 units; a longer text is cut, with a mark. `sha256` is of the whole file. @throws FileRefusal */
async function readRange (
  files: WorkspaceFiles,
  named: string,
  {
    start = 1,
    most,
    end = start + (most === undefined ? DEFAULT_LINES : MAX_LINES) - 1
  }: { readonly start?: number | undefined; readonly end?: number | undefined; readonly most?: number | undefined } = {}
): Promise<JsonObject> {
  const { bytes, stats } = await files.read(await files.resolve(named))
  const normal = normalisePath(named)
  const path = 'path' in normal ? normal.path : named
  if (bytes.includes(0)) throw new FileRefusal('FORBIDDEN_PATH', `${JSON.stringify(path)} is no text`)
  const whole = bytes.toString()
  const form = formOf(whole, utf8In(bytes) !== undefined, (stats.mode & 0o111) !== 0)
  const lines = whole.replace(/^\ufeff/, '').split('\n')
  if (lines.at(-1) === '') lines.pop()
  const first = Math.max(1, start)
  const chosen = lines.slice(first - 1, Math.min(end, first + MAX_LINES - 1))
  return {
    path,
    startLine: first,
    endLine: first + chosen.length - 1,
    totalLines: lines.length,
    text: beginningWithMark(chosen.join('\n'), most),
    ...(form === '' ? {} : { form }),
    sha256: sha256(bytes)
  }
}

function formOf (text: string, isUtf8: boolean, isExecutable: boolean): string {
  const [ends, returns] = [text.match(/\n/g)?.length ?? 0, text.match(/\r\n/g)?.length ?? 0]
  return [
    ...isUtf8 ? [] : ['not UTF-8, so it cannot be changed'],
    ...text.startsWith('\ufeff') ? ['begins with a byte order mark'] : [],
    ...returns === 0 ? [] : [returns === ends ? 'line ends are CRLF' : `${returns} of ${ends} line ends are CRLF`],
    ...isExecutable ? ['executable'] : []
  ].join('; ')
}

function beginningWithMark (text: string, most = Infinity): string {
  if (text.length <= most) return text
  const beginning = beginningOf(text, most)
  return `${beginning}\n...[TRUNCATED ${text.length - beginning.length} chars]...`
}

/** In UTF-16 units, of all answers except previews of changes. */
const MAX_REQUESTS = 100
const MAX_TOTAL = 200_000

/** In UTF-16 units. */
const MAX_BRANCH = 200

interface ContextPlace extends MemoryPlace {
  readonly files: WorkspaceFiles
  readonly journal: Journal
  readonly session: string
  /** The operator's names for the log files that models may read. */
  readonly logs: ReadonlyMap<string, string>
  /** An abort ends a running search, which returns what it has found so far. */
  readonly signal: AbortSignal
}

/** A request that cannot be read gets a block of the type `missing`, with the reason. */
export async function fulfil (requests: readonly JsonObject[], place: ContextPlace): Promise<JsonObject[]> {
  const blocks: JsonObject[] = []
  let total = 0
  for (const [index, request] of requests.entries()) {
    const block = total > MAX_TOTAL || index >= MAX_REQUESTS ? missing(request, 'too much was asked for at once') : await blockOf(request, place)
    const length = JSON.stringify(block).length
    // A preview has limits of its own.
    const fits = block['type'] === 'preview' || total + length <= MAX_TOTAL
    blocks.push(fits ? block : missing(request, 'it is too long together with what was asked for before; ask for fewer lines'))
    total += fits ? length : 0
  }
  return blocks
}

async function blockOf (request: JsonObject, place: ContextPlace): Promise<JsonObject> {
  try {
    return await read(request, place)
  } catch (error) {
    if (!(error instanceof FileRefusal)) throw error
    return { ...missing(request, `${error.code}: ${error.message}`), code: error.code }
  }
}

async function read (request: JsonObject, place: ContextPlace): Promise<JsonObject> {
  const { files, logs, signal } = place
  const text = (name: string): string => {
    const value = ownField(request, name)
    if (typeof value === 'string') return value
    throw new FileRefusal('ERR_SCHEMA_VALIDATION', `expected a text as ${name}`)
  }
  const count = (name: string): number | undefined => {
    const value = ownField(request, name)
    return typeof value === 'number' && Number.isSafeInteger(value) && value > 0 ? value : undefined
  }
  switch (ownField(request, 'type')) {
    case 'read_file':
      return {
        type: 'file',
        ...(await readRange(files, text('path'), { start: count('start_line'), end: count('end_line'), most: count('max_chars') }))
      }
    case 'search': {
      const { hits, isTruncated } = await search(
        files,
        text('query'),
        ownField(request, 'glob') === undefined || ownField(request, 'glob') === null ? undefined : text('glob'),
        signal
      )
      return { type: 'search', query: text('query'), hits: hits.map(hit => ({ ...hit })), truncated: isTruncated }
    }
    case 'logs': {
      const location = logs.get(text('source'))
      if (location === undefined) {
        throw new FileRefusal('PATH_NOT_FOUND', `there is no source of logs "${text('source')}"; there is ${[...logs.keys()].join(', ') || 'none'}`)
      }
      return { type: 'logs', source: text('source'), text: await readLog(files, location, count('last_n')) }
    }
    case 'list': {
      const [path, glob] = ['path', 'glob'].map(name => ownField(request, name) === undefined || ownField(request, name) === null ? undefined : text(name))
      return { type: 'list', ...await listFiles(files, path, glob, signal), ...(glob === undefined ? {} : { glob }) }
    }
    case 'env':
      return { type: 'env', text: await describeEnvironment(files) }
    case 'memory':
      return { type: 'memory', ...(await readMemory(place)), ...(await readBranch(files)) }
    case 'preview': {
      const change = ownField(request, 'change')
      if (!isJsonObject(change)) throw new FileRefusal('ERR_SCHEMA_VALIDATION', 'expected a change to be shown')
      const given = ownField(request, 'together')
      const together = listOf(given).filter(each => typeof each === 'string')
      return { type: 'preview', ...(await preview(place, change, together)) } as unknown as JsonObject
    }
    default:
      throw new FileRefusal('ERR_SCHEMA_VALIDATION', 'expected as type one of read_file, search, logs, list, env, memory, preview')
  }
}

function missing (request: JsonObject, reason: string): JsonObject {
  // The sender of a request for a preview knows the change in it.
  const { change, ...rest } = request
  return { type: 'missing', request: rest, reason }
}

/** Empty on no branch, and in what is no repository itself. */
async function readBranch (files: WorkspaceFiles): Promise<{ readonly branch?: string }> {
  try {
    const { bytes } = await files.read('.git/HEAD')
    const branch = /^ref: refs\/heads\/(\S+)\s*$/.exec(bytes.toString())?.[1]
    return branch === undefined ? {} : { branch: branch.slice(0, MAX_BRANCH) }
  } catch (error) {
    if (!(error instanceof FileRefusal)) throw error
    return {}
  }
}

/** In UTF-16 units of JSON, since the session's log contains the list. */
const MAX_LIST = 4 * 1024 * 1024

/** Writes nothing. A person who agrees to the preview agrees to `shown` only. @throws FileRefusal when the change would be refused */
export async function preview (
  place: ChangePlace, given: JsonObject, together: readonly string[] = []
): Promise<Page & { readonly shown: readonly JsonObject[], readonly conflicts: readonly JsonObject[] }> {
  const change = parseChange(given)
  const { steps, actions, conflicts } = await planned(change, place, together)
  const shown = shownOf(steps)
  const { length } = JSON.stringify(shown)
  if (length > MAX_LIST) {
    throw new FileRefusal(
      'ERR_CONTENT_TOO_LARGE',
      `the ${shown.length} paths of the change take ${length} characters; at most ${MAX_LIST} are shown at a time`
    )
  }
  const page = await pageOf(shown as unknown as Touched[], contentsOf(place, actions))
  return { ...page, shown, conflicts: conflicts.map(conflict => ({ ...conflict })) }
}

const DEFAULT_LINES = 200
const MAX_LINES = 5000

/** In bytes. */
const MAX_BYTES = 512 * 1024

/** @throws FileRefusal */
async function readLog (files: WorkspaceFiles, location: string, lines = DEFAULT_LINES): Promise<string> {
  const path = await files.resolve(isAbsolute(location) ? relative((await files.roots()).root, location) : location)
  const text = await files.within(path, async ({ at }) => {
    const file = await open(at, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch((error: unknown) => { throw refusalOf(error, path) })
    try {
      await assertSame(file, at)
      const stats = await file.stat()
      // A log file can have any size, since only its end is read.
      if (!stats.isFile() || stats.nlink > 1) throw new FileRefusal('FORBIDDEN_PATH', `${JSON.stringify(path)} is no plain file`)
      const bytes = Buffer.alloc(Math.min(stats.size, MAX_BYTES))
      const { bytesRead } = await file.read(bytes, 0, bytes.length, stats.size - bytes.length)
      return bytes.toString('utf8', 0, bytesRead)
    } finally {
      await file.close()
    }
  })
  return text.replace(/\r?\n$/, '').split('\n').slice(-Math.min(Math.max(lines, 1), MAX_LINES)).join('\n')
}

const MANIFESTS = [
  'package.json', 'package-lock.json', 'pnpm-lock.yaml', 'yarn.lock', 'bun.lockb', 'tsconfig.json', 'pyproject.toml', 'requirements.txt',
  'poetry.lock', 'uv.lock', 'Pipfile', 'setup.py', 'tox.ini', 'go.mod', 'Cargo.toml', 'pom.xml', 'build.gradle', 'Gemfile', 'composer.json',
  'Makefile', 'Dockerfile', 'docker-compose.yml'
]
const VERSIONS = ['.nvmrc', '.node-version', '.python-version', '.ruby-version', '.tool-versions']

const MAX_VERSION = 200

/** Without the service's environment variables, which can contain secrets. */
async function describeEnvironment (files: WorkspaceFiles): Promise<string> {
  const found: string[] = []
  for (const name of MANIFESTS) if (await isFile(files, name)) found.push(name)
  const versions: string[] = []
  for (const name of VERSIONS) {
    const text = await files.read(name).then(({ bytes }) => bytes.toString('utf8', 0, MAX_VERSION).trim(), () => '')
    if (text !== '') versions.push(`${name}: ${text.replaceAll('\n', ', ')}`)
  }
  return [
    `platform: ${platform} ${arch}`,
    `node: ${process.versions.node}`,
    `files: ${found.length === 0 ? 'none of the usual ones' : found.join(', ')}`,
    ...versions
  ].join('\n')
}

async function isFile (files: WorkspaceFiles, path: string): Promise<boolean> {
  return await files.now(path).then(({ mark }) => mark !== null && mark !== 'folder', () => false)
}

const MAX_NAMES = 400

/** Sizes in bytes. Files that git ignores are left out. @throws FileRefusal for a path or a glob that is not allowed */
async function listFiles (
  files: WorkspaceFiles,
  named: string | undefined,
  glob: string | undefined,
  signal: AbortSignal
): Promise<{ readonly path: string; readonly text: string }> {
  const isWanted = glob === undefined ? () => true : globOf(glob)
  if (isWanted === undefined) throw new FileRefusal('ERR_SCHEMA_VALIDATION', GLOB_EXPECTED)
  const folder = named === undefined || named === '.' ? '' : await files.resolve(named)
  const { root, hidden } = await files.roots()
  const lines: string[] = []
  const slices = createSlices()
  for (const found of walk(root, path => hidden.includes(join(root, path)))) {
    if (found !== undefined && isBelow(found.path, folder) && isWanted(found.path)) {
      if (lines.length === MAX_NAMES || signal.aborted) {
        return { path: folder === '' ? '.' : folder, text: [...lines, '(there is more; name a path or a glob)'].join('\n') }
      }
      lines.push(`${found.path} ${statSync(found.at, { throwIfNoEntry: false })?.size ?? 0}`)
    }
    if (slices.isDue()) await slices.pause()
  }
  return { path: folder === '' ? '.' : folder, text: lines.length === 0 ? '(no files)' : lines.join('\n') }
}

function isBelow (path: string, folder: string): boolean {
  return folder === '' || path === folder || path.startsWith(`${folder}/`)
}

/** Existing clients look here. */
const FOLDERS = ['.papa-yu', 'traces']

/** Writes the trace of a plan (a record of what it did) into its workspace; replaces an earlier trace. No link on the way is followed. @param id a UUID */
export async function writeTrace (files: WorkspaceFiles, id: string, text: string): Promise<void> {
  const open: OpenFolder[] = [await files.openRoot()]
  try {
    for (const name of FOLDERS) {
      const folder = open.at(-1) as OpenFolder
      await mkdir(folder.at(name)).catch((error: unknown) => { if (errorCode(error) !== 'EEXIST') throw error })
      open.push(await folder.child(name))
    }
    const traces = open.at(-1) as OpenFolder
    await replaceFile(traces.at(`${id}.json`), traces.at(`.${id}.tmp`), text, { mode: PRIVATE_FILE })
  } finally {
    for (const folder of open) await folder.close()
  }
}

interface Asker {
  /** A session can preview the undo or redo of its own changes only. @default none */
  readonly session?: string
  /** The name of an access token; empty where the service uses none. */
  readonly owner: string
  /** Ends a running search, and the wait for a workspace's lock. */
  readonly signal: AbortSignal
}

interface ChangeOf {
  readonly session: string
  readonly change: JsonObject
}

/** The operator's workspaces by name. Each method throws FileRefusal WORKSPACE_UNKNOWN for an unknown name. */
export class Workspaces {
  readonly #operator: OperatorFile
  readonly #state: string
  readonly #known = new Map<string, { readonly workspace: Workspace, readonly files: WorkspaceFiles, readonly journal: string }>()

  constructor (operator: OperatorFile, state: string) {
    this.#operator = operator
    this.#state = state
  }

  async read (name: string, requests: readonly JsonObject[], { session = '', owner, signal }: Asker): Promise<JsonObject[]> {
    const {
      workspace: { logs },
      files,
      journal
    } = this.#get(name)
    return await fulfil(requests, { files, journal: new Journal(journal), session, state: this.#state, owner, logs, signal })
  }

  /** A second call for the same effect of a session changes nothing. */
  async apply (
    name: string,
    given: Omit<ApplyOptions, 'files' | 'journal'>
  ): Promise<ChangeOutcome> {
    const { files, journal } = this.#get(name)
    return await applyChange({ files, journal, ...given })
  }

  /** Writes nothing. */
  async dryTurn (name: string, kind: 'undo' | 'redo', session: string, together: readonly string[], paths: readonly string[]): Promise<DryTurn> {
    const { files, journal } = this.#get(name)
    return await dryTurn(kind, entriesOf(await new Journal(journal).endedOf(session), together.map(effect => `${session}.${effect}`)), paths, files)
  }

  async changedBy (name: string, session: string, together: readonly string[]): Promise<Touched[]> {
    const journal = new Journal(this.#get(name).journal)
    return changedBy((await Promise.all(together.map(effect => journal.ended(`${session}.${effect}`)))).filter(entry => entry !== undefined))
  }

  async page (
    name: string,
    { touched, after, limit, ...of }: ChangeOf & { readonly touched: readonly Touched[]; readonly after: number; readonly limit: number }
  ): Promise<Page> {
    return await pageOf(touched, await this.#contentsOf(name, of), after, limit)
  }

  /** The diff of one file, much longer than in a page. */
  async difference (name: string, { touched, ...of }: ChangeOf & { readonly touched: Touched }): Promise<ShownFile> {
    const { files } = await pageOf([touched], await this.#contentsOf(name, of), 0, 1, MAX_WHOLE_DIFF)
    return files[0] as ShownFile
  }

  /** `undefined` when the content is no longer kept. */
  async content (name: string, { path, sha256, ...of }: ChangeOf & { readonly path: string; readonly sha256: string }): Promise<Buffer | undefined> {
    return await (await this.#contentsOf(name, of))(path, sha256)
  }

  async #contentsOf (name: string, { session, change: given }: ChangeOf): Promise<ReadContent> {
    const { files, journal } = this.#get(name)
    const change = parseChange(given)
    const actions = change.kind === 'do' ? await withContents(change, files).catch(unlessRefused) : []
    return contentsOf({ files, journal: new Journal(journal), session }, actions)
  }

  async memory (owner: string, name?: string) {
    return await readMemory({ files: name === undefined ? undefined : this.#get(name).files, state: this.#state, owner })
  }

  /** Without `name` only preferences of the owner can be stored. @throws FileRefusal */
  async remember (name: string | undefined, patch: JsonObject, { owner, signal }: Asker): Promise<JsonObject> {
    const { files, journal } = name === undefined ? { files: undefined, journal: join(this.#state, 'papa-yu') } : this.#get(name)
    return await remember({ files, state: this.#state, owner }, patch, journal, signal)
  }

  async writeTrace (name: string, id: string, text: string): Promise<void> {
    await writeTrace(this.#get(name).files, id, text)
  }

  async recover (onFailure: (workspace: string, error: Error) => void): Promise<void> {
    for (const name of this.#operator.workspaces.keys()) {
      const { files, journal } = this.#get(name)
      const names = await readdir(journal).catch(() => [])
      if (!names.some(entry => entry.endsWith('.open'))) continue
      await recoverChanges(files, journal, timeLimit(undefined, 60_000)).catch((error: unknown) => {
        onFailure(name, error as Error)
      })
    }
  }

  #get (name: string) {
    const known = this.#known.get(name)
    if (known !== undefined) return known
    const workspace = this.#operator.workspaces.get(name)
    if (workspace === undefined) throw new FileRefusal('WORKSPACE_UNKNOWN', `the operator of this service offers no workspace "${name}"`)
    const made = {
      workspace,
      files: new WorkspaceFiles({ root: workspace.path, hidden: [this.#state], whitelist: widened(DEFAULT_WHITELIST, workspace.mayChange ?? []) }),
      journal: join(this.#state, 'journal', encodeURIComponent(name).replaceAll('.', '%2E'))
    }
    this.#known.set(name, made)
    return made
  }
}

/** A refusal, such as of edits that no longer fit, leaves no result to show. @throws any other error */
function unlessRefused (error: unknown): [] {
  if (error instanceof FileRefusal) return []
  throw error
}

function contentsOf ({ files, journal, session }: ChangePlace, actions: readonly FileAction[]): ReadContent {
  const wanted = new Map(actions.flatMap(({ content }) => content === undefined ? [] : [[sha256(content), content]]))
  return async (path, hash) => wanted.get(hash) ?? await onDisk(path, hash) ?? await journal.contentOf(session, hash)

  async function onDisk (path: string, hash: string): Promise<Buffer | undefined> {
    const read = await files.read(path).catch((error: unknown) => {
      if (!(error instanceof FileRefusal)) throw error
      return undefined
    })
    return read !== undefined && sha256(read.bytes) === hash ? read.bytes : undefined
  }
}
