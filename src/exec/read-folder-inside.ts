import { opendir } from 'node:fs/promises'
import { OpenFolder } from '../files/open-folder.ts'
import { entryOf, type FolderEntry, MAX_ENTRIES, type ReadFolder } from './find-files.ts'

/** Makes a function that reads folders below a root, by paths relative to the root. The function follows no links, so it never leaves the root. */
export function readFolderInside (root: string): ReadFolder {
  return async path => {
    let folder = await OpenFolder.open(root).catch(() => undefined)
    try {
      for (const part of path.split('/').filter(part => part !== '.')) {
        const child = part === '..' ? undefined : await folder?.child(part).catch(() => undefined)
        await folder?.close()
        folder = child
      }
      if (folder === undefined) return undefined
      const entries: FolderEntry[] = []
      for await (const entry of await opendir(folder.path)) {
        if (entries.push(...entryOf(entry.name, entry)) >= MAX_ENTRIES) break
      }
      return entries
    } catch {
      return undefined
    } finally {
      await folder?.close()
    }
  }
}
