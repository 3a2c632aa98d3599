import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { type Files, type RepairTask } from './tasks.ts'

const run = promisify(execFile)

/** A folder of its own with the task's repository in `project`, everything committed. */
export interface Place {
  readonly folder: string
  readonly project: string
  /** All files of the project but those of git and of the tools. */
  tree (folder?: string): Promise<Files>
  write (files: Files): Promise<void>
  remove (): Promise<void>
}

/** Makes the repository of a task. */
export async function makePlace ({ files }: RepairTask): Promise<Place> {
  const folder = await mkdtemp(join(tmpdir(), 'compare-repair-'))
  const project = join(folder, 'project')
  const write = async (given: Files): Promise<void> => {
    for (const [path, text] of Object.entries(given)) {
      await mkdir(dirname(join(project, path)), { recursive: true })
      await writeFile(join(project, path), text)
    }
  }
  await mkdir(project)
  await write(files)
  const git = async (...words: string[]): Promise<unknown> => await run('git', ['-C', project, ...words])
  await git('init', '--quiet')
  await git('config', 'user.name', 'Ann')
  await git('config', 'user.email', 'ann@example.com')
  await git('add', '.')
  await git('commit', '--quiet', '-m', 'First')
  return { folder, project, write, tree: async (from = project) => await treeOf(from), remove: async () => { await rm(folder, { recursive: true, force: true }) } }
}

async function treeOf (folder: string): Promise<Files> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const paths = entries.filter(entry => entry.isFile()).map(entry => join(entry.parentPath, entry.name).slice(folder.length + 1))
  const own = paths.filter(path => !path.startsWith('.git/') && !path.startsWith('.aider') && !path.startsWith('.papa-yu/')).sort()
  return Object.fromEntries(await Promise.all(own.map(async path => [path, await readFile(join(folder, path), 'utf8')] as const)))
}

/** Whether the project's test passes. */
export async function isGreen (project: string): Promise<boolean> {
  return await run(process.execPath, ['--test'], { cwd: project }).then(() => true, () => false)
}

/** The paths whose texts differ. */
export function changedIn (before: Files, after: Files): string[] {
  return [...new Set([...Object.keys(before), ...Object.keys(after)])].filter(path => before[path] !== after[path]).sort()
}
