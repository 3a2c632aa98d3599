import { open } from 'node:fs/promises'

/** Flushes a folder to the disk, so that the names of new files in it survive a power cut. */
export async function syncFolder (path: string): Promise<void> {
  const folder = await open(path, 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}
