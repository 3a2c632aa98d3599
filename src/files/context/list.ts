import { statSync } from 'node:fs'
import { join } from 'node:path'
import { createSlices } from '../../runtime/slices.ts'
import { FileRefusal } from '../file-refusal.ts'
import { type WorkspaceFiles } from '../workspace-files.ts'
import { GLOB_EXPECTED, globOf } from './glob.ts'
import { walk } from './walk.ts'

/** The largest number of files in one list. */
const MAX_NAMES = 400

/**
 * Lists the files at or below a path of a workspace for a model, one on a line, with sizes in bytes. Files that git ignores are left out.
 * @param named a folder, relative to the workspace; by default all files of the workspace are listed
 * @param glob pattern of the files to list; by default all are listed
 * @throws FileRefusal for a path or a glob that is not allowed
 */
export async function listFiles (
  files: WorkspaceFiles,
  named: string | undefined,
  glob: string | undefined,
  signal: AbortSignal
): Promise<{ readonly path: string; readonly text: string }> {
  const isWanted = glob === undefined ? () => true : globOf(glob)
  if (isWanted === undefined) throw new FileRefusal('ERR_SCHEMA_VALIDATION', GLOB_EXPECTED)
  const folder = named === undefined || named === '.' ? '' : await files.resolve(named)
  const { root, hidden } = await files.roots()
  const lines: string[] = []
  const slices = createSlices()
  for (const found of walk(root, path => hidden.includes(join(root, path)))) {
    if (found !== undefined && isBelow(found.path, folder) && isWanted(found.path)) {
      if (lines.length === MAX_NAMES || signal.aborted) {
        return { path: folder === '' ? '.' : folder, text: [...lines, '(there is more; name a path or a glob)'].join('\n') }
      }
      lines.push(`${found.path} ${statSync(found.at, { throwIfNoEntry: false })?.size ?? 0}`)
    }
    if (slices.isDue()) await slices.pause()
  }
  return { path: folder === '' ? '.' : folder, text: lines.length === 0 ? '(no files)' : lines.join('\n') }
}

function isBelow (path: string, folder: string): boolean {
  return folder === '' || path === folder || path.startsWith(`${folder}/`)
}
