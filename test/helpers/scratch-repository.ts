import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { type AtEnd } from './shared.ts'
import { createTemporaryFolder } from './temporary-folder.ts'

/** A git repository with one new file, and the environment of a service that offers it as a target. */
export interface ScratchRepository {
  readonly environment: Readonly<Record<string, string>>
  /** Subjects of its commits, the newest first. */
  log (): string[]
  /** Puts a file into it. */
  write (path: string, text: string): Promise<void>
}

/** Makes a repository, `repo`, and an operator's file that offers it as the workspace `repo` and the target `here`. */
export async function scratchRepository (t: AtEnd): Promise<ScratchRepository> {
  const folder = await createTemporaryFolder()
  t.after(folder.remove)
  const path = join(folder.path, 'repo')
  await folder.write('repo/new.txt', 'new\n')
  const git = (...words: string[]): string => execFileSync('git', ['-C', path, ...words], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
  git('init', '--quiet')
  git('config', 'user.name', 'Ann')
  git('config', 'user.email', 'ann@example.com')
  await folder.write('operator.yaml', `
workspaces: { repo: { path: repo, skills: true } }
targets: { here: { type: local, workspace: repo } }
policy: [{ effect: allow, on: exec, command: "git status *" }]
`)
  return {
    environment: { STORE_DIR: 'examples', LLM_BASE_URL: 'builtin:script', LLM_SCRIPT_FILE: 'examples/demo/replies.yaml', STATE_DIR: join(folder.path, 'state'), SESSION_STORE: 'memory', OPERATOR_FILE: join(folder.path, 'operator.yaml') },
    write: (name, text) => folder.write(`repo/${name}`, text).then(() => {}),
    log () {
      try {
        return git('log', '--format=%s').trim().split('\n')
      } catch {
        // There is no commit yet.
        return []
      }
    }
  }
}
