import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { isAbsolute, relative } from 'node:path'
import { FileRefusal } from '../file-refusal.ts'
import { assertSame } from '../open-folder.ts'
import { refusalOf, type WorkspaceFiles } from '../workspace-files.ts'

/** Lines of a log that are read without a number, and at most. */
const DEFAULT_LINES = 200
const MAX_LINES = 5000

/** Of a log no more than its end is read, in bytes. */
const MAX_BYTES = 512 * 1024

/** The last lines of a log. @param location below the workspace, as the operator has named it @throws FileRefusal */
export async function readLog (files: WorkspaceFiles, location: string, lines = DEFAULT_LINES): Promise<string> {
  const path = await files.resolve(isAbsolute(location) ? relative((await files.roots()).root, location) : location)
  const text = await files.within(path, async ({ at }) => {
    const file = await open(at, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch((error: unknown) => { throw refusalOf(error, path) })
    try {
      await assertSame(file, at)
      const stats = await file.stat()
      // Logs may be as large as they like.
      if (!stats.isFile() || stats.nlink > 1) throw new FileRefusal('FORBIDDEN_PATH', `${JSON.stringify(path)} is no plain file`)
      const bytes = Buffer.alloc(Math.min(stats.size, MAX_BYTES))
      const { bytesRead } = await file.read(bytes, 0, bytes.length, stats.size - bytes.length)
      return bytes.toString('utf8', 0, bytesRead)
    } finally {
      await file.close()
    }
  })
  return text.replace(/\r?\n$/, '').split('\n').slice(-Math.min(Math.max(lines, 1), MAX_LINES)).join('\n')
}
