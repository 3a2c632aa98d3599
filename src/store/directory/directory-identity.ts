import { stat } from 'node:fs/promises'

/**
 * Which folder a path leads to: another one of the same name has another identity. The number of a folder that was removed
 * is often given to the next one, so the time when it was made counts too.
 */
export async function identify (folder: string): Promise<string> {
  const { dev, ino, birthtimeMs } = await stat(folder)
  return `${dev}:${ino}:${birthtimeMs}:${folder}`
}
