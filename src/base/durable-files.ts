import { constants } from 'node:fs'
import { chmod, mkdir, open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'

/** The flags that open a file for writing only if the call creates it. An existing file, or a link of that name, is an error. */
const CREATING = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW

/** The permissions and the owner of a file. A new file gets them from the file that it replaces. */
export interface FileNature {
  readonly mode: number
  readonly uid?: number
  readonly gid?: number
}

/** Writes a file that must not exist yet, and flushes it to the disk. @param nature permissions and owner. @default those of any new file */
export async function writeNewFile (path: string, bytes: Uint8Array | string, nature?: FileNature): Promise<void> {
  const file = await open(path, CREATING, 0o666)
  try {
    await file.writeFile(bytes)
    if (nature?.uid !== undefined && nature.gid !== undefined) {
      const { uid, gid } = await file.stat()
      // Only the superuser is allowed to change a file's owner, so a failure is no error.
      if (uid !== nature.uid || gid !== nature.gid) await file.chown(nature.uid, nature.gid).catch(() => {})
    }
    if (nature !== undefined) await file.chmod(nature.mode)
    await file.sync()
  } finally {
    await file.close()
  }
}

/**
 * Replaces a file, or creates it, in one step: readers see the whole old file or the whole new one.
 * @param temporary a path in the same folder, at which the new file is written first; a file that a crash has left there is removed
 */
export async function replaceFile (path: string, temporary: string, bytes: Uint8Array | string, nature?: FileNature): Promise<void> {
  await rm(temporary, { force: true })
  await writeNewFile(temporary, bytes, nature)
  await rename(temporary, path)
  await syncFolder(dirname(path))
}

/** Flushes a folder to the disk, so that the names of new files in it survive a power cut. */
export async function syncFolder (path: string): Promise<void> {
  const folder = await open(path, 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}

/** The modes of the files and folders that the service keeps for itself. What is said and done in sessions must not be read by other users of the machine. */
export const [PRIVATE_FOLDER, PRIVATE_FILE] = [0o700, 0o600]

/** Makes a folder that only this user can enter, and the missing folders above it. An existing folder gets the same mode. */
export async function makePrivateFolder (path: string): Promise<void> {
  await mkdir(path, { recursive: true, mode: PRIVATE_FOLDER })
  await chmod(path, PRIVATE_FOLDER)
}
