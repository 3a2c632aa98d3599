import { stat } from 'node:fs/promises'

/**
 * The identity of the folder at a path. Another folder that takes the same name has another identity. It includes the time when the folder was made,
 * because the file system often gives the inode number of a removed folder to the next one.
 */
export async function identify (folder: string): Promise<string> {
  const { dev, ino, birthtimeMs } = await stat(folder)
  return `${dev}:${ino}:${birthtimeMs}:${folder}`
}
