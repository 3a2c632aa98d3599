import { constants } from 'node:fs'
import { chmod, mkdir, open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'

/** An existing file, or a link of that name, is an error. */
const CREATING = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW

interface FileNature {
  readonly mode: number
  readonly uid?: number
  readonly gid?: number
}

/** Flushes to the disk. @default permissions and owner of any new file */
export async function writeNewFile (path: string, bytes: Uint8Array | string, nature?: FileNature): Promise<void> {
  const file = await open(path, CREATING, 0o666)
  try {
    await file.writeFile(bytes)
    if (nature?.uid !== undefined && nature.gid !== undefined) {
      const { uid, gid } = await file.stat()
      // Only the superuser may change a file's owner, so a failure is no error.
      if (uid !== nature.uid || gid !== nature.gid) await file.chown(nature.uid, nature.gid).catch(() => {})
    }
    if (nature !== undefined) await file.chmod(nature.mode)
    await file.sync()
  } finally {
    await file.close()
  }
}

/** Readers see the whole old file or the whole new one. `temporary` is in the same folder; one that a crash has left is removed. */
export async function replaceFile (path: string, temporary: string, bytes: Uint8Array | string, nature?: FileNature): Promise<void> {
  await rm(temporary, { force: true })
  try {
    await writeNewFile(temporary, bytes, nature)
    await rename(temporary, path)
  } catch (error) {
    await rm(temporary, { force: true })
    throw error
  }
  await syncFolder(dirname(path))
}

/** Windows, some network file systems, and a folder that may not be listed. */
const UNSYNCABLE: ReadonlySet<string> = new Set(['EISDIR', 'EPERM', 'EACCES', 'EINVAL', 'ENOTSUP'])

/** So that the names of new files in it survive a power cut, where a folder can be flushed. */
export async function syncFolder (path: string): Promise<void> {
  try {
    const folder = await open(path, 'r')
    await folder.sync().finally(() => folder.close())
  } catch (error) {
    if (!UNSYNCABLE.has(errorCode(error))) throw error
  }
}

/** What is said and done in sessions must not be read by other users of the machine. */
export const [PRIVATE_FOLDER, PRIVATE_FILE] = [0o700, 0o600]

/** Only this user can enter it; an existing folder gets the same mode. */
export async function makePrivateFolder (path: string): Promise<void> {
  await mkdir(path, { recursive: true, mode: PRIVATE_FOLDER })
  await chmod(path, PRIVATE_FOLDER)
}

/** Such as `ENOENT`; `''` for an error without one. */
export function errorCode (error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : ''
}
