import { type OperatorFile } from '../../../config/operator.ts'
import { ExecutorError, type Ran } from '../../../exec/executor.ts'
import { type Executors } from '../../../exec/executors.ts'
import { type LocalExecutor } from '../../../exec/local-executor.ts'
import { timeLimit } from '../../../runtime/deadline.ts'
import { type CommitEffect } from '../../../session/model.ts'
import { type Outcome } from '../../../session/performer.ts'
import { type WorkspaceLocks } from './files.ts'
import { type Perform } from './performer.ts'

/** The longest end of git's output that an error quotes, in UTF-16 units. */
const MAX_PRINTED = 2000

/** The first arguments of every call of git: paths are taken literally, never as patterns. All paths come after `--`, so that none is taken for an option. */
const GIT = ['git', '--literal-pathspecs', '-c', 'core.quotePath=false'] as const

/**
 * Makes the performer that commits files of workspaces. Git and the repository's hooks run in the same sandbox as checks, and no shell
 * reads a path or a message. An effect that is performed twice makes one commit: a trailer of the commit names the session and the effect.
 */
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
      if (error instanceof ExecutorError) return failed(error.code, error.message)
      if (ending.aborted && error === ending.reason) return failed('WORKSPACE_BUSY', 'a command is running in the workspace')
      throw error
    }
  }
}

/** Runs git in a workspace. @see GIT */
type Git = (words: readonly string[], input?: string) => Promise<Ran>

function repository (executor: LocalExecutor, signal: AbortSignal, timeout: number): Git {
  return (words, input) => executor.runProgram([...GIT, ...words], { timeout, signal, ...(input === undefined ? {} : { input }) })
}

async function commit (git: Git, { paths, message }: CommitEffect, name: string): Promise<Outcome> {
  const tracked = await git(['ls-files', '-z', '--', ...paths])
  const untracked = await git(['ls-files', '-z', '--others', '--exclude-standard', '--', ...paths])
  if (!isGood(tracked) || !isGood(untracked)) return failed('COMMIT_FAILED', printed(isGood(tracked) ? untracked : tracked))
  const fresh = named(paths, untracked)
  const known = [...new Set([...named(paths, tracked), ...fresh])]
  const leftOut = await whyLeftOut(git, paths.filter(path => !known.includes(path)))
  const left = leftOut.length === 0 ? {} : { leftOut }
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

/** Says of paths that git does not list why it does not. */
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

/**
 * Brings git's index to the commit, for its paths. `git commit --only` runs hooks on an index of its own: what a hook has formatted and added there
 * is in the commit, while the other index would take it back.
 */
async function matchIndex (git: Git): Promise<void> {
  const { stdout } = await git(['diff-tree', '-r', '-z', '--root', '--no-commit-id', '--name-only', '--no-renames', 'HEAD'])
  if (stdout !== '') await git(['reset', '--quiet', '--pathspec-from-file=-', '--pathspec-file-nul'], stdout)
}

/** The hash of the newest commit, if its trailer names this session and effect; `undefined` if not. */
async function findCommit (git: Git, name: string): Promise<string | undefined> {
  const { stdout } = await git(['log', '-1', '--format=%H%n%(trailers:key=Session,valueonly)'])
  const [hash, ...trailers] = stdout.split('\n')
  return hash !== undefined && trailers.some(trailer => trailer.trim() === name) ? hash : undefined
}

/** Gives those of the paths that git has listed, each as a file or as a folder that contains listed files. */
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
