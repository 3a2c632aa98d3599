import { constants } from 'node:fs'
import { open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { syncFolder } from '../base/sync-folder.ts'

/** A file that nobody has put there before: no link of that name is followed. */
const CREATING = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW

/** What a new file gets that takes over from another one. */
export interface FileNature {
  readonly mode: number
  readonly uid?: number
  readonly gid?: number
}

/** Writes a file that must not exist yet, and brings it to the disk. @param nature @default as every new file */
export async function writeNewFile (path: string, bytes: Uint8Array | string, nature?: FileNature): Promise<void> {
  const file = await open(path, CREATING, 0o666)
  try {
    await file.writeFile(bytes)
    if (nature?.uid !== undefined && nature.gid !== undefined) {
      const { uid, gid } = await file.stat()
      // Only the superuser may give files away.
      if (uid !== nature.uid || gid !== nature.gid) await file.chown(nature.uid, nature.gid).catch(() => {})
    }
    if (nature !== undefined) await file.chmod(nature.mode)
    await file.sync()
  } finally {
    await file.close()
  }
}

/**
 * Puts a file in the place of another file, or of none. Readers see the whole old file or the whole new one.
 * @param temporary a path beside it; what a crash has left at that path is removed
 */
export async function replaceFile (path: string, temporary: string, bytes: Uint8Array | string, nature?: FileNature): Promise<void> {
  await rm(temporary, { force: true })
  await writeNewFile(temporary, bytes, nature)
  await rename(temporary, path)
  await syncFolder(dirname(path))
}
