import { stat } from 'node:fs/promises'

/**
 * Which folder a path leads to. Another folder of the same name has another identity. The number of a removed folder is often
 * given to the next one, so the time when it was made counts, too.
 */
export async function identify (folder: string): Promise<string> {
  const { dev, ino, birthtimeMs } = await stat(folder)
  return `${dev}:${ino}:${birthtimeMs}:${folder}`
}
