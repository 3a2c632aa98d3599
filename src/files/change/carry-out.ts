import { lstat, mkdir, rename, rm, rmdir, unlink } from 'node:fs/promises'
import pLimit from 'p-limit'
import { errorCode, writeNewFile } from '../../base/durable-files.ts'
import { type ContentHash, FileRefusal, fileStateAt, type OpenPath, refusalOf, sha256, type WorkspaceFiles } from '../workspace-files.ts'
import { foldersOf, type ChangeStep } from './change-rules.ts'

const SIDE_BY_SIDE = 8

export interface Work {
  readonly files: WorkspaceFiles
  readonly image: (sha256: string) => Promise<Buffer>
  /** By the tag, temporary files that a crash has left are found again. */
  readonly tag: string
  /** @throws LockLost when another process has taken the lock over */
  readonly assertHeld: () => void
  /** True leaves a folder that somebody else has filled; false is an error. */
  readonly keepsFilled: boolean
}

export class ForeignChange extends Error {
  override readonly name = 'ForeignChange'
  readonly paths: readonly string[]

  constructor (paths: readonly string[]) {
    super(`changed meanwhile by somebody else: ${paths.join(', ')}`)
    this.paths = paths
  }
}

/** A step that is done already is skipped, so a repeat after a crash does no harm. @throws ForeignChange; errors of the file system */
export async function carryOut (steps: readonly ChangeStep[], work: Work): Promise<void> {
  const all = steps.filter(({ before, after }) => before !== after)
  const marks = await marksOf(all, work.files)
  const foreign = all.filter(({ path, before, after }) => ![before, after].includes(marks.get(path) as ContentHash))
  if (foreign.length > 0) throw new ForeignChange(foreign.map(({ path }) => path))
  const open = all.filter(({ path, after }) => marks.get(path) !== after)
  for (const step of open.filter(makesFolder)) await finishStep(step, work)
  const limit = pLimit(SIDE_BY_SIDE)
  await allOf(open.filter(writesFile).map(step => limit(() => stage(step, work))))
  for (const step of open) if (!makesFolder(step)) await finishStep(step, work)
  await finish(all, work)
  const ended = await marksOf(all, work.files)
  const wrong = all.filter(step => ended.get(step.path) !== step.after && !(work.keepsFilled && removesFolder(step)))
  if (wrong.length > 0) throw new ForeignChange(wrong.map(({ path }) => path))
}

/** `undefined` for what no step can have left: a link, a pipe. */
export async function marksOf (steps: readonly ChangeStep[], files: WorkspaceFiles): Promise<Map<string, ContentHash | undefined>> {
  const limit = pLimit(SIDE_BY_SIDE)
  return new Map(await allOf(steps.map(({ path }) => limit(async () => {
    try {
      return [path, (await files.now(path)).mark] as const
    } catch (error) {
      if (!(error instanceof FileRefusal)) throw error
      return [path, undefined] as const
    }
  }))))
}

export async function removeTemporary (steps: readonly ChangeStep[], { files, tag }: Work): Promise<void> {
  for (const { path } of steps.filter(step => writesFile(step) || isFile(step.before))) {
    await files.within(path, spot => rm(temporaryOf(spot, tag), { force: true })).catch(() => {})
  }
}

async function finishStep (step: ChangeStep, { files, tag, assertHeld, keepsFilled }: Work): Promise<void> {
  const { path, before, after } = step
  await files.within(path, async spot => {
    const { mark } = await fileStateAt(spot, path)
    if (mark === after) return
    if (mark !== before) throw new ForeignChange([path])
    assertHeld()
    if (isFile(after)) await rename(temporaryOf(spot, tag), spot.at)
    else if (after === 'folder') await mkdir(spot.at)
    else if (before === 'folder') await removeFolder(spot, path, keepsFilled)
    else await unlink(spot.at)
  })
}

async function removeFolder ({ at }: OpenPath, path: string, keepsFilled: boolean): Promise<void> {
  try {
    await rmdir(at)
  } catch (error) {
    if (!['ENOTEMPTY', 'EEXIST'].includes(errorCode(error))) throw error
    if (!keepsFilled) throw new ForeignChange([path])
  }
}

async function stage ({ path, after, mode }: ChangeStep, { files, tag, image, assertHeld }: Work): Promise<void> {
  const bytes = await image(after as string)
  if (sha256(bytes) !== after) throw new Error(`the journal has lost the content of ${path}`)
  await files.within(path, async spot => {
    const temporary = temporaryOf(spot, tag)
    // A present file's permissions and owner are kept.
    const stats = await lstat(spot.at).catch(() => undefined)
    const nature = stats?.isFile() === true ? { mode: stats.mode & 0o7777, uid: stats.uid, gid: stats.gid } : mode === 0 ? undefined : { mode }
    assertHeld()
    await rm(temporary, { force: true })
    await writeNewFile(temporary, bytes, nature)
  })
}

/** Permissions come last, since they can forbid writing. */
async function finish (steps: readonly ChangeStep[], { files }: Work): Promise<void> {
  const limit = pLimit(SIDE_BY_SIDE)
  const folders = new Set(steps.map(({ path }) => foldersOf(path).at(-1)))
  await allOf([...folders].map(folder => limit(async () => {
    // A folder that was removed has no names to flush.
    const opened = folder === undefined ? await files.openRoot() : await files.within(folder, ({ folder, name }) => folder.child(name)).catch(() => undefined)
    await opened?.sync().finally(() => opened.close())
  })))
  for (const { path, mode } of steps.filter(step => makesFolder(step) && step.mode !== 0).reverse()) {
    await files.within(path, async ({ folder, name }) => {
      const opened = await folder.child(name).catch((error: unknown) => { throw refusalOf(error, path) })
      await opened.chmod(mode).finally(() => opened.close())
    })
  }
}

/** Short enough for every file system, whatever the file's own name. */
function temporaryOf ({ folder, name }: OpenPath, tag: string): string {
  return folder.at(`.aps-${tag}-${sha256(name).slice(0, 12)}.tmp`)
}

function makesFolder ({ after }: ChangeStep): boolean {
  return after === 'folder'
}

function removesFolder ({ before, after }: ChangeStep): boolean {
  return before === 'folder' && after === null
}

function writesFile ({ after }: ChangeStep): boolean {
  return isFile(after)
}

function isFile (mark: ContentHash): mark is string {
  return mark !== null && mark !== 'folder'
}

/** Waits for all, also when a part fails, so that nothing is written after the error is thrown. */
async function allOf<T> (work: ReadonlyArray<Promise<T>>): Promise<T[]> {
  await Promise.allSettled(work)
  return await Promise.all(work)
}
