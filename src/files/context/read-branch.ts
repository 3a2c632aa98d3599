import { FileRefusal } from '../file-refusal.ts'
import { type WorkspaceFiles } from '../workspace-files.ts'

/** The largest length of a branch name, in UTF-16 units; a longer one is cut. */
const MAX_NAME = 200

/** Reads the name of the git branch that a workspace is on; empty when it is on no branch, or is no repository itself. */
export async function readBranch (files: WorkspaceFiles): Promise<{ readonly branch?: string }> {
  try {
    const { bytes } = await files.read('.git/HEAD')
    const branch = /^ref: refs\/heads\/(\S+)\s*$/.exec(bytes.toString())?.[1]
    return branch === undefined ? {} : { branch: branch.slice(0, MAX_NAME) }
  } catch (error) {
    if (!(error instanceof FileRefusal)) throw error
    return {}
  }
}
