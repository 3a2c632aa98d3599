import type { JsonObject } from '../../base/json.ts'
import type { OperatorFile } from '../../config/operator.ts'
import type { Ran } from '../../exec/executor.ts'
import type { Executors } from '../../exec/executors.ts'
import type { LocalExecutor } from '../../exec/local-executor.ts'
import type { Workspaces } from '../../files/workspaces.ts'
import { timeLimit } from '../../runtime/deadline.ts'
import { SharedLock } from '../../runtime/concurrency.ts'
import type { Outcome } from '../../session/effects.ts'
import type { ApplyEffect, CommitEffect, ReadEffect, RememberEffect } from '../../session/model.ts'
import { failureOf, type Perform } from './performer.ts'

/** In UTF-16 units. */
const MAX_PRINTED = 2000

/** Paths are literal, never patterns; they come after `--`, so that none is taken for an option. */
const GIT = ['git', '--literal-pathspecs', '-c', 'core.quotePath=false'] as const

/** Hooks run in the sandbox of checks, no shell reads a path or message, and a trailer makes a repeated effect one commit. */
export function commitIn (executors: Executors, { workspaces }: OperatorFile, lockOf: WorkspaceLocks): Perform<CommitEffect> {
  return async ({ session, effect, signal }) => {
    const { workspace, timeout } = effect
    const executor = await executors.ofWorkspace(workspace)
    if (workspaces.get(workspace)?.mayCommit !== true || executor === undefined) {
      return failed('COMMIT_DISABLED', `the operator of this service allows no commits in "${workspace}"`)
    }
    const ending = timeLimit(signal, timeout)
    try {
      return await lockOf(workspace).alone(ending, () => commit(repository(executor, ending, timeout), effect, `${session.id}/${effect.id}`))
    } catch (error) {
      if (ending.aborted && error === ending.reason) return failed('WORKSPACE_BUSY', 'a command is running in the workspace')
      return failureOf(error)
    }
  }
}

type Git = (words: readonly string[], input?: string) => Promise<Ran>

function repository (executor: LocalExecutor, signal: AbortSignal, timeout: number): Git {
  return (words, input) => executor.runProgram([...GIT, ...words], { timeout, signal, input })
}

async function commit (git: Git, { paths, message }: CommitEffect, name: string): Promise<Outcome> {
  const tracked = await git(['ls-files', '-z', '--', ...paths])
  const untracked = await git(['ls-files', '-z', '--others', '--exclude-standard', '--', ...paths])
  if (!isGood(tracked) || !isGood(untracked)) return failed('COMMIT_FAILED', printed(isGood(tracked) ? untracked : tracked))
  const fresh = named(paths, untracked)
  const known = [...new Set([...named(paths, tracked), ...fresh])]
  const leftOut = await whyLeftOut(git, paths.filter(path => !known.includes(path)))
  const left: JsonObject = leftOut.length === 0 ? {} : { leftOut }
  const there = await findCommit(git, name)
  if (there !== undefined) {
    await matchIndex(git)
    return { kind: 'result', result: { hash: there, ...left } }
  }
  if (known.length === 0) {
    const reasons = leftOut.map(({ path, reason }) => `${path} (${reason})`)
    return failed('COMMIT_FAILED', `git takes nothing of what was changed: ${reasons.join(', ')}`)
  }
  if (fresh.length > 0) await git(['add', '--intent-to-add', '--', ...fresh])
  const made = await git(['commit', '--only', '--quiet', '--cleanup=whitespace', '-F', '-', '--', ...known], `${message}\n\nSession: ${name}\n`)
  const hash = await findCommit(git, name) ?? (isGood(made) ? (await git(['rev-parse', 'HEAD'])).stdout.trim() : undefined)
  if (hash !== undefined) {
    await matchIndex(git)
    return { kind: 'result', result: { hash, ...left } }
  }
  // Git has made no commit, so the new files are taken out of git's index again.
  if (fresh.length > 0) await git(['rm', '--cached', '--quiet', '--ignore-unmatch', '-r', '--', ...fresh])
  return failed('COMMIT_FAILED', printed(made))
}

async function whyLeftOut (git: Git, paths: readonly string[]): Promise<Array<{ readonly path: string, readonly reason: string }>> {
  if (paths.length === 0) return []
  const ignored = named(paths, await git(['ls-files', '-z', '--others', '--ignored', '--exclude-standard', '--', ...paths]))
  const folders = new Set(paths.flatMap(path => path.split('/').slice(0, -1).map((_part, index, parts) => parts.slice(0, index + 1).join('/'))))
  const entries = folders.size === 0 ? '' : (await git(['ls-tree', '-z', 'HEAD', '--', ...folders])).stdout
  const submodules = entries.split('\0').flatMap(entry => entry.startsWith('160000 ') ? [entry.slice(entry.indexOf('\t') + 1)] : [])
  return paths.map(path => {
    const submodule = submodules.find(each => path.startsWith(`${each}/`))
    if (submodule !== undefined) return { path, reason: `in the submodule ${submodule}` }
    return { path, reason: ignored.includes(path) ? 'ignored' : 'unknown to git: gone, or in a repository of its own' }
  })
}

/** `git commit --only` runs hooks on an index of its own; the other index would take back what they changed. */
async function matchIndex (git: Git): Promise<void> {
  const { stdout } = await git(['diff-tree', '-r', '-z', '--root', '--no-commit-id', '--name-only', '--no-renames', 'HEAD'])
  if (stdout !== '') await git(['reset', '--quiet', '--pathspec-from-file=-', '--pathspec-file-nul'], stdout)
}

/** `undefined` if its trailer does not name this session and effect. */
async function findCommit (git: Git, name: string): Promise<string | undefined> {
  const { stdout } = await git(['log', '-1', '--format=%H%n%(trailers:key=Session,valueonly)'])
  const [hash, ...trailers] = stdout.split('\n')
  return hash !== undefined && trailers.some(trailer => trailer.trim() === name) ? hash : undefined
}

function named (paths: readonly string[], { stdout }: Ran): string[] {
  const files = stdout.split('\0')
  return paths.filter(path => files.some(file => file === path || file.startsWith(`${path}/`)))
}

function isGood ({ outcome, exitCode }: Ran): boolean {
  return outcome === 'exited' && exitCode === 0
}

function printed ({ outcome, exitCode, stdout, stderr }: Ran): string {
  const how = outcome === 'exited' ? `exit code ${String(exitCode)}` : outcome
  return `git has failed: ${how}\n${endOf(`${stdout}\n${stderr}`.trim())}`.trim()
}

function endOf (text: string): string {
  return text.length <= MAX_PRINTED ? text : `[…${text.length - MAX_PRINTED} characters] ${text.slice(-MAX_PRINTED)}`
}

function failed (code: string, message: string): Outcome {
  return { kind: 'failure', code, message }
}

/** In bytes; larger files are left out. */
const MAX_FILE = 256 * 1024

/** Of one read, in ms; the session can ask for less. */
const [TARGET_TIMEOUT, WORKSPACE_TIMEOUT] = [5000, 10_000]

/** Their code is loaded at the first call. */
type LoadWorkspaces = () => Promise<Workspaces>

export type WorkspaceLocks = (workspace: string) => SharedLock

/** While files change, no command of this process runs there: it could put a link where a path was just checked. */
export function workspaceLocks (): WorkspaceLocks {
  const locks = new Map<string, SharedLock>()
  return workspace => {
    const lock = locks.get(workspace) ?? new SharedLock()
    locks.set(workspace, lock)
    return lock
  }
}

/** After a crash an effect may be performed again: the journal knows its id, so that the change is made only once. */
export function changeFilesIn (load: LoadWorkspaces, lockOf: WorkspaceLocks): Perform<ApplyEffect> {
  return async ({ session: { id: session }, effect: { id: effect, workspace, change, together, timeout }, signal }) => {
    const workspaces = await load()
    const ending = timeLimit(signal, timeout)
    try {
      return await lockOf(workspace).alone(ending, () => workspaces.apply(workspace, { session, effect, change, together, signal: ending }))
    } catch (error) {
      if (ending.aborted && error === ending.reason) return failed('WORKSPACE_BUSY', 'a command is running in the workspace')
      return failureOf(error)
    }
  }
}

export function rememberIn (load: LoadWorkspaces): Perform<RememberEffect> {
  return async ({ session: { start: { owner } }, effect: { workspace, patch, timeout }, signal }) => {
    const workspaces = await load()
    try {
      return { kind: 'result', result: await workspaces.remember(workspace, patch, { owner, signal: timeLimit(signal, timeout) }) }
    } catch (error) {
      return failureOf(error)
    }
  }
}

export function readFilesOf (executors: Executors, load: LoadWorkspaces): Perform<ReadEffect> {
  return async ({ session: { id: session, start }, effect: { from, requests, timeout }, signal }) => {
    if ('target' in from) return await readTarget(executors, from.target, requests, timeLimit(signal, Math.min(timeout, TARGET_TIMEOUT)))
    const workspaces = await load()
    const limit = timeLimit(signal, Math.min(timeout, WORKSPACE_TIMEOUT))
    try {
      return { kind: 'result', result: { blocks: await workspaces.read(from.workspace, requests, { session, owner: start.owner, signal: limit }) } }
    } catch (error) {
      return failureOf(error)
    }
  }
}

/** A file that does not exist, or that cannot be read in time, is left out. */
async function readTarget (executors: Executors, target: string, requests: readonly JsonObject[], limit: AbortSignal): Promise<Outcome> {
  const executor = await executors.ofTarget(target)
  if (executor === undefined) return { kind: 'failure', code: 'TARGET_UNKNOWN', message: `the operator of this service offers no target "${target}"` }
  const files: JsonObject[] = []
  for (const { path } of requests) {
    const text = typeof path === 'string' && !limit.aborted ? await executor.readText(path, MAX_FILE, limit).catch(() => undefined) : undefined
    if (text !== undefined) files.push({ path: path as string, text })
  }
  return { kind: 'result', result: { files } }
}
