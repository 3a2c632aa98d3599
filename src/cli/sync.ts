import { execFile } from 'node:child_process'
import { mkdir, realpath, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, extname, join, sep } from 'node:path'
import { promisify } from 'node:util'
import { createTwoFilesPatch, FILE_HEADERS_ONLY } from 'diff'
import pLimit from 'p-limit'
import { contentHash, type Json, type JsonObject, listOf, objectOf, stringifyJson, textOf } from '../base/json.ts'
import { isDotpromptFile, isInside, keyToFiles } from '../store/directory-paths.ts'
import { keyToFunction, pathToKey, toPath } from '../store/store.ts'
import { type ApiClient, ApiError } from './api-client.ts'
import { type Cli, openLines } from './context.ts'
import { draftOf } from './entry-files.ts'
import { ENTRY_KINDS, type CliKind, pathOf, publish, storedText, tagOf } from './entries.ts'
import { CliError, EXIT, type Output, usageError } from './output.ts'
import { moveLabel } from './release.ts'
import {
  compareFolder, type Comparison, type Difference, type Folder, FOLDER_KEYS, moduleName, modulesOf, type RemoteEntry, writeKnownTags
} from './folder.ts'

/** They refer to no other entries, and so are written first. */
const FIRST: ReadonlySet<string> = new Set(['tools', 'environs'])

interface PlannedChange {
  readonly what: 'create' | 'change' | 'remove'
  readonly difference: Difference
  readonly conflict?: string
}

/** @param prune whether an entry that only the service has is removed */
function planPush (differences: readonly Difference[], prune: boolean): readonly PlannedChange[] {
  return differences.flatMap((difference): PlannedChange[] => {
    const { local, remote, known, isHeld } = difference
    if (local === undefined) return prune ? [{ what: 'remove', difference, ...conflictUnless(remote?.tag === known, known) }] : []
    // Pushed before and unchanged here since: somebody has removed it from the service on purpose.
    if (remote === undefined) return [{ what: 'create', difference, conflict: known === local.tag && !isHeld ? 'it was removed there' : undefined }]
    return [{ what: 'change', difference, ...conflictUnless(remote.tag === known, known) }]
  })
}

function conflictUnless (isOurs: boolean, known: string | undefined): { readonly conflict?: string } {
  if (isOurs) return {}
  return { conflict: known === undefined ? 'it differs there, and was not pushed or pulled from here' : 'somebody has edited it there' }
}

/**
 * Lets the service check each entry that a push would write, before any is written. A name that is not registered there is no error where the push
 * writes what may have it.
 * @returns the steps that the service would refuse, each with the reason
 * @throws CliError for an error that concerns all entries
 */
async function checkPush (steps: readonly PlannedChange[], api: ApiClient): Promise<ReadonlyMap<PlannedChange, CliError>> {
  const writes = steps.filter(({ what }) => what !== 'remove')
  const offers = writes.map(({ difference }) => difference)
  const refused = await carryOut(writes, step => make(step, {}, api, true), error => error.code === 'LINT_BUSY')
  return new Map([...refused].filter(([, error]) => !errorsOf(error).every(diagnostic => isMended(diagnostic, offers))))
}

const UNREGISTERED: ReadonlySet<string> = new Set([
  'FUNCTION_UNKNOWN', 'PARTIAL_UNKNOWN', 'TOOL_UNKNOWN', 'DEFINITION_UNKNOWN', 'PARAMETER_UNKNOWN', 'PARTIAL_CYCLE'
])

function errorsOf ({ code, details }: ApiError): readonly JsonObject[] {
  const errors = listOf(objectOf(details)['diagnostics']).map(objectOf).filter(({ severity }) => severity === 'error')
  return code === 'ENTRY_INVALID' && errors.length > 0 ? errors : [{}]
}

/** One of the push's entries may have the name that the message quotes. */
function isMended ({ code, message }: JsonObject, offers: readonly Difference[]): boolean {
  if (!UNREGISTERED.has(textOf(code))) return false
  const names = Array.from(textOf(message).matchAll(/"([^"]+)"/g), ([, name]) => toPath(name as string))
  return code === 'PARTIAL_CYCLE' || names.some(name => offers.some(({ kind, id }) => {
    if (kind.key === 'tools') return keyToFunction(name, '').startsWith(keyToFunction(id, ''))
    return kind.key === 'extensions' || id === name.split('@')[0] || id.endsWith(`.${name.split('@')[0] as string}`)
  }))
}

/** An entry refused as invalid, perhaps for a missing one, is tried again after the others. @throws CliError */
async function push (
  steps: readonly PlannedChange[],
  about: Readonly<Record<string, string>>,
  { api, output }: { readonly api: ApiClient, readonly output: Output }
) {
  const made: PlannedChange[] = []
  const versions = new Map<string, number>()
  const refused = new Map<PlannedChange, CliError>()
  const writes = steps.filter(({ what }) => what !== 'remove')
  const removals = steps.filter(({ what }) => what === 'remove').toSorted((one, other) => rank(other) - rank(one))
  const isFirst = ({ difference }: PlannedChange) => FIRST.has(difference.kind.key)
  for (const group of [writes.filter(isFirst), writes.filter(step => !isFirst(step)), removals]) {
    const left = await carryOut(group, async step => {
      const version = await make(step, about, api)
      if (version !== undefined) versions.set(step.difference.name, version)
      made.push(step)
      await output.words(`${PAST[step.what]} ${step.difference.name}`)
    }, ({ code }) => code === 'ENTRY_INVALID' || code === 'LINT_BUSY')
    for (const [step, error] of left) refused.set(step, error)
  }
  return { made, refused, versions }
}

/** Tries again what may be taken later, as long as that takes any. @returns what was refused in the end @throws CliError */
async function carryOut (
  steps: readonly PlannedChange[],
  act: (step: PlannedChange) => Promise<unknown>,
  mayBeLater: (error: ApiError) => boolean
): Promise<ReadonlyMap<PlannedChange, ApiError>> {
  const limit = pLimit(AT_A_TIME)
  const refused = new Map<PlannedChange, ApiError>()
  for (let waiting = steps, before = Infinity; waiting.length > 0 && waiting.length < before;) {
    before = waiting.length
    await Promise.all(waiting.map(step => limit(async () => {
      refused.delete(step)
      try {
        await act(step)
      } catch (error) {
        if (!(error instanceof ApiError) || !isOfThis(error)) throw error
        refused.set(step, error)
      }
    })))
    waiting = [...refused].filter(([, error]) => mayBeLater(error)).map(([step]) => step)
  }
  return refused
}

/** A missing right, or no answer, would make every entry fail. */
function isOfThis ({ exitCode, code }: ApiError): boolean {
  return exitCode === EXIT.NO || exitCode === EXIT.USAGE || code === 'LINT_BUSY'
}

const PAST = { create: 'created', change: 'changed', remove: 'removed' } as const

function rank ({ difference }: PlannedChange): number {
  return ENTRY_KINDS.indexOf(difference.kind)
}

/** Refused if the entry has changed since the push was planned. */
function conditionsFor (remote: Difference['remote']): Readonly<Record<string, string>> {
  if (remote === undefined) return { 'if-none-match': '*' }
  return { 'if-match': remote.tag === '' ? '*' : `"${remote.tag}"` }
}

/** @returns the prompt version made; `undefined` if none was recorded */
async function make (
  { what, difference: { kind, id, local, remote } }: PlannedChange,
  about: Readonly<Record<string, string>>,
  api: ApiClient,
  isDryRun = false
): Promise<number | undefined> {
  const conditions = conditionsFor(remote)
  if (what === 'remove' || local === undefined) {
    await api.delete(pathOf(kind, id), conditions)
    return undefined
  }
  const { json } = await publish(api, kind, id, local.entry, { conditions, about, isDryRun })
  const { version } = objectOf(json)
  return version === undefined ? undefined : Number(version)
}

export interface SyncOptions {
  readonly dryRun?: true
  readonly prune?: true
  readonly overwrite?: true
  readonly yes?: true
  readonly note?: string
  /** Moved once all entries are stored, for each prompt to the folder's version. */
  readonly label?: string
}

interface SyncConnection { readonly api: ApiClient, readonly output: Output }

/** @throws CliError if they differ */
export async function diffFolder (path: string, opened: SyncConnection): Promise<void> {
  const { api, output } = opened
  const comparison = await compareFolder(path, api.url, opened, 'push')
  const { differences, others } = comparison
  if (output.wantsJson) await output.json(differences.map(describe))
  else await showDifferences(differences, 'push', api, output)
  if (others > 0) await output.words(`${others} entries of other modules are only there`)
  if (differences.length > 0) throw new CliError(EXIT.NO, `${differences.length} ${differences.length === 1 ? 'entry differs' : 'entries differ'}`)
}

/** @throws CliError */
export async function pushFolder (path: string, options: SyncOptions, opened: SyncConnection, cli: Cli): Promise<void> {
  const { api, output } = opened
  const comparison = await compareFolder(path, api.url, opened, 'push')
  const steps = planPush(comparison.differences, options.prune === true)
  if (options.prune !== true) await tellRest(comparison.differences.filter(({ local }) => local === undefined), 'there', output)
  const held = steps.filter(({ difference }) => difference.isHeld).length
  if (held > 0) await output.words(`${held} of them the service holds, since its store has lost them: they are stored again, without their versions and labels`)
  const { label, note, dryRun } = options
  if (!await isAgreed('push', steps, options, opened, cli)) {
    await remember(comparison, [], 'local', api)
    if (steps.length === 0 && label !== undefined && dryRun !== true) await labelPrompts(label, comparison.folder, new Map(), note, opened)
    return
  }
  const unmoved = label === undefined ? '' : `, and ${label} was not moved`
  const wrong = await checkPush(steps, api)
  if (wrong.size > 0) {
    await tellRefused(wrong, output)
    throw new CliError(EXIT.NO, `nothing was pushed: ${wrong.size} of ${steps.length} were refused${unmoved}`)
  }
  const about = { source: await commitOf(comparison.folder.root), note: note ?? '' }
  const { made, refused, versions } = await push(steps, Object.fromEntries(Object.entries(about).filter(([, value]) => value !== '')), opened)
  await remember(comparison, made, 'local', api)
  await tellRefused(refused, output)
  if (refused.size > 0) throw new CliError(EXIT.NO, `${refused.size} of ${steps.length} were refused${unmoved}`)
  if (label !== undefined) await labelPrompts(label, comparison.folder, versions, note, opened)
}

async function tellRefused (refused: ReadonlyMap<PlannedChange, CliError>, output: Output): Promise<void> {
  for (const [{ difference }, error] of refused) await output.words(`not ${difference.name}: ${error.message}`)
}

/** A file with the same value already is not changed. @throws CliError */
export async function pullFolder (path: string, options: SyncOptions, opened: SyncConnection, cli: Cli): Promise<void> {
  const { api, output } = opened
  await mkdir(path, { recursive: true })
  const comparison = await compareFolder(path, api.url, opened, 'pull')
  const steps = await withoutOtherModules(planPull(comparison.differences, options.prune === true), comparison, options, opened, cli)
  if (options.prune !== true) await tellRest(comparison.differences.filter(({ remote }) => remote === undefined), 'here', output)
  if (!await isAgreed('pull', steps, options, opened, cli)) return await remember(comparison, [], 'remote', api)
  const made: PlannedChange[] = []
  let failed = 0
  for (const step of steps) {
    try {
      await pullEntry(comparison.folder.root, step.difference, api)
      made.push(step)
      await output.words(`${step.what === 'remove' ? 'removed' : 'wrote'} ${step.difference.name}`)
    } catch (error) {
      if (error instanceof CliError) throw error
      failed++
      await output.words(`not ${step.difference.name}: ${(error as Error).message}`)
    }
  }
  await remember(comparison, made, 'remote', api)
  if (failed > 0) throw new CliError(EXIT.NO, `${failed} of ${steps.length} could not be written`)
}

/** Modules that the folder does not have need the user's word; an empty folder gets all. */
async function withoutOtherModules (
  steps: readonly PlannedChange[],
  { folder, known }: Comparison,
  { yes, dryRun }: SyncOptions,
  { output }: SyncConnection,
  cli: Cli
): Promise<readonly PlannedChange[]> {
  const modules = modulesOf(folder)
  const isOther = ({ what, difference: { name, kind, id } }: PlannedChange) => what === 'create' && !known.has(name) && !modules.has(moduleName(kind, id))
  const others = steps.filter(isOther)
  if (others.length === 0 || folder.entries.size === 0 || yes === true) return steps
  const names = [...new Set(others.map(({ difference: { kind, id } }) => moduleName(kind, id)))].sort()
  const counted = `${others.length} entries of modules that the folder does not have: ${names.slice(0, 20).join(', ')}${names.length > 20 ? ', …' : ''}`
  if (dryRun !== true && canAsk(output, cli) && await confirmChanges(`bring ${counted}? y or n: `, output, cli)) return steps
  await output.words(`not brought: ${counted}; --yes brings them`)
  return steps.filter(step => !isOther(step))
}

/** @throws CliError for conflicts, and for a dry run that would change something */
async function isAgreed (
  direction: 'push' | 'pull', steps: readonly PlannedChange[], options: SyncOptions, { api, output }: SyncConnection, cli: Cli
): Promise<boolean> {
  const { dryRun, yes, prune } = options
  if (steps.length === 0) {
    if (output.wantsJson) await output.json([])
    else await output.words('nothing differs')
    return false
  }
  if (output.wantsJson) await output.json(steps.map(describeStep))
  else if (dryRun === true || (output.terminal !== undefined && yes !== true)) {
    await showDifferences(steps.map(({ difference }) => difference), direction, api, output)
    for (const { what, difference } of steps) await output.words(`${what} ${difference.name}`)
  }
  await refuseConflicts(direction, steps, options, output)
  if (dryRun === true) throw new CliError(EXIT.NO, `${steps.length} would change`)
  // A pull can be undone by git, so the user is asked only if it removes files.
  return yes === true || (direction === 'pull' && prune !== true) || await confirmChanges(`${direction} ${steps.length} changes? y or n: `, output, cli)
}

async function refuseConflicts (direction: 'push' | 'pull', steps: readonly PlannedChange[], { overwrite }: SyncOptions, output: Output): Promise<void> {
  const conflicts = steps.filter(({ conflict }) => conflict !== undefined)
  if (conflicts.length === 0 || overwrite === true) return
  for (const { difference, conflict } of conflicts) await output.words(`${difference.name}: ${conflict ?? ''}`)
  const done = direction === 'push' ? 'pushed' : 'pulled'
  throw new CliError(EXIT.NO, `nothing was ${done}: ${conflicts.length} of ${steps.length} would undo an edit; --overwrite does it all the same`)
}

async function confirmChanges (question: string, output: Output, cli: Cli): Promise<boolean> {
  if (!canAsk(output, cli)) throw usageError('expected --yes, or --dry-run, where nobody can be asked')
  const lines = openLines(cli, output)
  try {
    return /^(?:y|yes)$/i.test((await lines.next(question))?.trim() ?? '')
  } finally {
    lines.close()
  }
}

function canAsk (output: Output, cli: Cli): boolean {
  return output.terminal !== undefined && (cli.stdin as { readonly isTTY?: boolean }).isTTY === true
}

async function tellRest (rest: readonly Difference[], where: 'here' | 'there', output: Output): Promise<void> {
  if (rest.length === 0) return
  const named = rest.map(({ name }) => name).slice(0, 20).join(', ')
  await output.words(`only ${where}: ${named}${rest.length > 20 ? `, and ${rest.length - 20} more` : ''}; --prune removes them`)
}

/** An entry that still differs keeps its older record. */
async function remember (
  { folder, same, known, differences }: Comparison, made: readonly PlannedChange[], from: 'local' | 'remote', api: ApiClient
): Promise<void> {
  const now = new Map(same)
  for (const { name, known: before } of differences) if (before !== undefined) now.set(name, before)
  for (const { difference: { name, [from]: side } } of made) {
    if (side === undefined) now.delete(name)
    else now.set(name, side.tag)
  }
  if (known.size > 0 || now.size > 0) await writeKnownTags(folder.root, api.url, now)
}

/** `git:` and the hash, with `+` for uncommitted changes; `''` outside of git. */
async function commitOf (root: string): Promise<string> {
  const git = async (...args: readonly string[]) => (await promisify(execFile)('git', ['-C', root, '-c', 'core.fsmonitor=false', ...args])).stdout.trim()
  try {
    const commit = await git('rev-parse', '--short=12', 'HEAD')
    return await git('status', '--porcelain', '--', '.') === '' ? `git:${commit}` : `git:${commit}+`
  } catch {
    return ''
  }
}

function describeStep ({ what, difference, conflict }: PlannedChange): JsonObject {
  return { ...describe(difference), what, ...(conflict === undefined ? {} : { conflict }) }
}

function describe ({ name, id, local, remote }: Difference): JsonObject {
  return { name, id, file: local?.file ?? null, here: local?.tag ?? null, there: remote?.tag ?? null }
}

/** In ms, for the search for the differences of two texts. */
const TIMEOUT = 2000

/** @param direction `push` shows the folder's text as the new one, `pull` the service's text */
async function showDifferences (differences: readonly Difference[], direction: 'push' | 'pull', api: ApiClient, output: Output): Promise<void> {
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

const AT_A_TIME = 8

/** @param versions made by the push; for other prompts the label moves to the latest version @throws CliError */
async function labelPrompts (
  label: string,
  { entries }: Folder,
  versions: ReadonlyMap<string, number>,
  note: string | undefined,
  { api, output }: { readonly api: ApiClient, readonly output: Output }
): Promise<void> {
  const limit = pLimit(AT_A_TIME)
  const prompts = [...entries].filter(([, { kind }]) => kind.key === 'templates')
  const refusals = (await Promise.all(prompts.map(([name, { id }]) => limit(async () => {
    try {
      await moveLabel(api, id, label, versions.get(name) ?? 'latest', { note })
      return []
    } catch (error) {
      if (!(error instanceof CliError) || (error.exitCode !== EXIT.NO && error.exitCode !== EXIT.ASKED)) throw error
      return [{ words: `${label} of ${name} was not moved: ${error.message}`, exitCode: error.exitCode }]
    }
  })))).flat()
  for (const { words } of refusals) await output.words(words)
  const exitCode = refusals.find(refusal => refusal.exitCode === EXIT.NO)?.exitCode ?? EXIT.ASKED
  if (refusals.length > 0) throw new CliError(exitCode, `the label ${label} of ${refusals.length} of ${prompts.length} prompts was not moved`)
  await output.words(`${label} means what the folder has, for ${prompts.length} ${prompts.length === 1 ? 'prompt' : 'prompts'}`)
}

/** @param prune whether the file of an entry that the service does not have is removed */
function planPull (differences: readonly Difference[], prune: boolean): readonly PlannedChange[] {
  return differences.flatMap((difference): PlannedChange[] => {
    const { local, remote, known } = difference
    if (remote === undefined) {
      if (!prune) return []
      return [{ what: 'remove', difference, conflict: local?.tag === known ? undefined : 'it was never there, or was edited here' }]
    }
    if (local === undefined) return [{ what: 'create', difference }]
    // A change that only the folder has is not overwritten: the next push sends it.
    if (remote.tag === known) return []
    if (local.tag === known) return [{ what: 'change', difference }]
    const conflict = known === undefined ? 'it differs here, and was not pushed or pulled from there' : 'it was edited on both sides'
    return [{ what: 'change', difference, conflict }]
  })
}

/** Keeps the form of the file; a new one is YAML. @param root without symbolic links @throws Error with the reason */
async function pullEntry (root: string, { kind, id, local, remote }: Difference, api: ApiClient): Promise<void> {
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

/** Part by part, so that nothing is made behind a link that leads outside. */
async function makeFolder (root: string, folder: string): Promise<void> {
  let made = root
  for (const part of folder.split(sep)) {
    made = join(made, part)
    await mkdir(made).catch((error: NodeJS.ErrnoException) => { if (error.code !== 'EEXIST') throw error })
    if (!isInside(root, await realpath(made))) throw new Error('its folder is a link that leads outside')
  }
}

function written (kind: CliKind, id: string, value: Json, present: string | undefined): { readonly file: string, readonly text: string } {
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

/** Not whole: the service leaves out credentials in clear text, and parts that are entries of their own. */
async function remoteValue (api: ApiClient, { kind, id, tag }: RemoteEntry): Promise<{ readonly value: Json, readonly isWhole: boolean }> {
  const value = kind.registeredIn(await api.get(pathOf(kind, id)))
  return { value, isWhole: contentHash(value) === tag }
}
