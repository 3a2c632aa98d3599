import { open } from 'node:fs/promises'

/** Brings the names of a folder's entries to the disk. */
export async function syncFolder (path: string): Promise<void> {
  const folder = await open(path, 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}
