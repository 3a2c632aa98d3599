import { execFile } from 'node:child_process'
import { mkdir } from 'node:fs/promises'
import { promisify } from 'node:util'
import { type JsonObject } from '../../base/json.ts'
import { type ApiClient } from '../api-client.ts'
import { type Cli } from '../cli.ts'
import { CliError, EXIT, usageError } from '../exit-codes.ts'
import { openLines } from '../lines.ts'
import { type Output } from '../output.ts'
import { type Comparison, compareFolder, type Difference, moduleName, modulesOf } from './compare.ts'
import { writeKnownTags } from './known-tags.ts'
import { labelPrompts } from './label-prompts.ts'
import { planPull, pullEntry } from './pull.ts'
import { checkPush, planPush, push, type Step } from './push.ts'
import { showDifferences } from './show-differences.ts'

/** The options of `aps push` and `aps pull`. */
export interface SyncOptions {
  readonly dryRun?: true
  readonly prune?: true
  readonly overwrite?: true
  readonly yes?: true
  readonly note?: string
  /** The label that a push moves, once all entries are stored: for each prompt, to the version that the folder has. */
  readonly label?: string
}

interface Opened { readonly api: ApiClient, readonly output: Output }

/** Prints how a folder and a service differ, as a push would change the service. @throws CliError if they differ */
export async function diffFolder (path: string, opened: Opened): Promise<void> {
  const { api, output } = opened
  const comparison = await compareFolder(path, api.url, opened, 'push')
  const { differences, others } = comparison
  if (output.wantsJson) await output.json(differences.map(describe))
  else await showDifferences(differences, 'push', api, output)
  if (others > 0) await output.words(`${others} entries of other modules are only there`)
  if (differences.length > 0) throw new CliError(EXIT.NO, `${differences.length} ${differences.length === 1 ? 'entry differs' : 'entries differ'}`)
}

/** Carries out `aps push`: gives a service the entries that a folder has. @throws CliError */
export async function pushFolder (path: string, options: SyncOptions, opened: Opened, cli: Cli): Promise<void> {
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

async function tellRefused (refused: ReadonlyMap<Step, CliError>, output: Output): Promise<void> {
  for (const [{ difference }, error] of refused) await output.words(`not ${difference.name}: ${error.message}`)
}

/**
 * Carries out `aps pull`: gives a folder the entries that a service has. A file that has the same value already is not changed.
 * @throws CliError
 */
export async function pullFolder (path: string, options: SyncOptions, opened: Opened, cli: Cli): Promise<void> {
  const { api, output } = opened
  await mkdir(path, { recursive: true })
  const comparison = await compareFolder(path, api.url, opened, 'pull')
  const steps = await withinWanted(planPull(comparison.differences, options.prune === true), comparison, options, opened, cli)
  if (options.prune !== true) await tellRest(comparison.differences.filter(({ remote }) => remote === undefined), 'here', output)
  if (!await isAgreed('pull', steps, options, opened, cli)) return await remember(comparison, [], 'remote', api)
  const made: Step[] = []
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

/**
 * Leaves out what a pull would bring of modules that the folder does not have, unless the user wants it. An empty folder gets everything unasked.
 */
async function withinWanted (
  steps: readonly Step[],
  { folder, known }: Comparison,
  { yes, dryRun }: SyncOptions,
  { output }: Opened,
  cli: Cli
): Promise<readonly Step[]> {
  const modules = modulesOf(folder)
  const isOther = ({ what, difference: { name, kind, id } }: Step) => what === 'create' && !known.has(name) && !modules.has(moduleName(kind, id))
  const others = steps.filter(isOther)
  if (others.length === 0 || folder.entries.size === 0 || yes === true) return steps
  const names = [...new Set(others.map(({ difference: { kind, id } }) => moduleName(kind, id)))].sort()
  const counted = `${others.length} entries of modules that the folder does not have: ${names.slice(0, 20).join(', ')}${names.length > 20 ? ', …' : ''}`
  if (dryRun !== true && canAsk(output, cli) && await isWanted(`bring ${counted}? y or n: `, output, cli)) return steps
  await output.words(`not brought: ${counted}; --yes brings them`)
  return steps.filter(step => !isOther(step))
}

/**
 * Prints the planned changes, and asks the user. @returns whether the changes are to be made; @throws CliError for conflicts, and for a dry
 * run that would change something
 */
async function isAgreed (direction: 'push' | 'pull', steps: readonly Step[], options: SyncOptions, { api, output }: Opened, cli: Cli): Promise<boolean> {
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
  return yes === true || (direction === 'pull' && prune !== true) || await isWanted(`${direction} ${steps.length} changes? y or n: `, output, cli)
}

async function refuseConflicts (direction: 'push' | 'pull', steps: readonly Step[], { overwrite }: SyncOptions, output: Output): Promise<void> {
  const conflicts = steps.filter(({ conflict }) => conflict !== undefined)
  if (conflicts.length === 0 || overwrite === true) return
  for (const { difference, conflict } of conflicts) await output.words(`${difference.name}: ${conflict ?? ''}`)
  const done = direction === 'push' ? 'pushed' : 'pulled'
  throw new CliError(EXIT.NO, `nothing was ${done}: ${conflicts.length} of ${steps.length} would undo an edit; --overwrite does it all the same`)
}

async function isWanted (question: string, output: Output, cli: Cli): Promise<boolean> {
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

/**
 * Records which entries are equal in the folder and at the service now. For an entry that still differs, the older record stays.
 * @param made the steps that were carried out
 * @param from whether the entries were copied from the folder (`local`) or from the service (`remote`)
 */
async function remember ({ folder, same, known, differences }: Comparison, made: readonly Step[], from: 'local' | 'remote', api: ApiClient): Promise<void> {
  const now = new Map(same)
  for (const { name, known: before } of differences) if (before !== undefined) now.set(name, before)
  for (const { difference: { name, [from]: side } } of made) {
    if (side === undefined) now.delete(name)
    else now.set(name, side.tag)
  }
  if (known.size > 0 || now.size > 0) await writeKnownTags(folder.root, api.url, now)
}

/** The commit of a folder, as `git:` and its hash, with a `+` if the folder has uncommitted changes; `''` outside of git. */
async function commitOf (root: string): Promise<string> {
  const git = async (...args: readonly string[]) => (await promisify(execFile)('git', ['-C', root, '-c', 'core.fsmonitor=false', ...args])).stdout.trim()
  try {
    const commit = await git('rev-parse', '--short=12', 'HEAD')
    return await git('status', '--porcelain', '--', '.') === '' ? `git:${commit}` : `git:${commit}+`
  } catch {
    return ''
  }
}

function describeStep ({ what, difference, conflict }: Step): JsonObject {
  return { ...describe(difference), what, ...(conflict === undefined ? {} : { conflict }) }
}

function describe ({ name, id, local, remote }: Difference): JsonObject {
  return { name, id, file: local?.file ?? null, here: local?.tag ?? null, there: remote?.tag ?? null }
}
