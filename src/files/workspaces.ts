import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { type JsonObject } from '../base/json.ts'
import { type OperatorFile, type Workspace } from '../config/operator.ts'
import { applyChange, type ApplyOptions, recoverChanges } from './change/apply.ts'
import { parseChange } from './change/change.ts'
import { contentsOf } from './change/contents.ts'
import { withContents } from './change/edited.ts'
import { type ChangeOutcome, Journal } from './change/journal.ts'
import { dryTurn, type DryTurn, entriesOf } from './change/undo.ts'
import { changedBy, type ContentOf, type Page, pageOf, type Touched } from './change/page.ts'
import { fulfil } from './context/fulfil.ts'
import { FileRefusal } from './file-refusal.ts'
import { type ReadMemory, readMemory, remember } from './memory/memory-files.ts'
import { DEFAULT_WHITELIST, widened } from './path-rules.ts'
import { WorkspaceFiles } from './workspace-files.ts'
import { writeTrace } from './write-trace.ts'

/** A workspace (a folder that sessions work on) that was used before in this process, with its files. */
interface Known {
  readonly workspace: Workspace
  readonly files: WorkspaceFiles
  /** The path of the folder with the workspace's journal. */
  readonly journal: string
}

/** The session and the user for whom files of a workspace are read or changed. */
export interface Asker {
  /** The id of the session, if a session asks. It can preview the undo or redo of its own changes only. @default none */
  readonly session?: string
  /** The user, by the name of the user's access token; empty where the service uses no tokens. */
  readonly owner: string
  /** An abort ends a running search, and the wait for the lock of a workspace. */
  readonly signal: AbortSignal
}

/** A change of files, and the session that made or proposed it. */
interface ChangeOf {
  readonly session: string
  readonly change: JsonObject
}

/**
 * The workspaces (folders that sessions work on) that the operator has configured, by name. Each method throws FileRefusal
 * WORKSPACE_UNKNOWN for an unknown name.
 */
export class Workspaces {
  readonly #operator: OperatorFile
  readonly #state: string
  readonly #known = new Map<string, Known>()

  /** Creates the table of workspaces. @param state absolute path of the folder in which the service keeps its state */
  constructor (operator: OperatorFile, state: string) {
    this.#operator = operator
    this.#state = state
  }

  /** Reads what a plan's session asks for (files, searches, logs …) from a workspace. @returns a block for each request */
  async read (name: string, requests: readonly JsonObject[], { session = '', owner, signal }: Asker): Promise<JsonObject[]> {
    const {
      workspace: { logs },
      files,
      journal
    } = this.#get(name)
    return await fulfil(requests, { files, journal: new Journal(journal), session, state: this.#state, owner, logs, signal })
  }

  /** Changes files of a workspace, undoes a change, or redoes it. A second call for the same effect of a session changes nothing. */
  async apply (
    name: string,
    given: Omit<ApplyOptions, 'files' | 'journal'>
  ): Promise<ChangeOutcome> {
    const { files, journal } = this.#get(name)
    return await applyChange({ files, journal, ...given })
  }

  /**
   * Computes which files an undo or a redo of a session's changes would change, without writing.
   * @param together the effects whose changes are turned round @param paths only these files, and all below these folders
   */
  async dryTurn (name: string, kind: 'undo' | 'redo', session: string, together: readonly string[], paths: readonly string[]): Promise<DryTurn> {
    const { files, journal } = this.#get(name)
    return await dryTurn(kind, entriesOf(await new Journal(journal).endedOf(session), together.map(effect => `${session}.${effect}`)), paths, files)
  }

  /** The paths that several changes of a session have changed together, each with its state before the first and after the last of them. */
  async changedBy (name: string, session: string, together: readonly string[]): Promise<Touched[]> {
    const journal = new Journal(this.#get(name).journal)
    return changedBy((await Promise.all(together.map(effect => journal.ended(`${session}.${effect}`)))).filter(entry => entry !== undefined))
  }

  /** Shows a part of the files that a change of a session touches, with their diffs. */
  async page (
    name: string,
    { touched, after, limit, ...of }: ChangeOf & { readonly touched: readonly Touched[]; readonly after: number; readonly limit: number }
  ): Promise<Page> {
    return await pageOf(touched, await this.#contentsOf(name, of), after, limit)
  }

  /** The content of a file before or after a change of a session; `undefined` when it is no longer kept. */
  async content (name: string, { path, sha256, ...of }: ChangeOf & { readonly path: string; readonly sha256: string }): Promise<Buffer | undefined> {
    return await (await this.#contentsOf(name, of))(path, sha256)
  }

  async #contentsOf (name: string, { session, change: given }: ChangeOf): Promise<ContentOf> {
    const { files, journal } = this.#get(name)
    const change = parseChange(given)
    const actions = change.kind === 'do' ? await withContents(change, files).catch(unlessRefused) : []
    return contentsOf({ files, journal: new Journal(journal), session }, actions)
  }

  /** Reads the stored preferences of a user and, if a workspace is named, of that workspace. @param owner the user, as in `Asker` */
  async memory (owner: string, name?: string): Promise<ReadMemory> {
    return await readMemory({ files: name === undefined ? undefined : this.#get(name).files, state: this.#state, owner })
  }

  /**
   * Stores preferences of an owner, or of a workspace, for later sessions.
   * @param name the workspace; without one, only preferences of the owner can be stored
   * @returns what was stored, what was dropped, and all preferences as they are now
   * @throws FileRefusal
   */
  async remember (name: string | undefined, patch: JsonObject, { owner, signal }: Asker): Promise<JsonObject> {
    const { files, journal } = name === undefined ? { files: undefined, journal: join(this.#state, 'papa-yu') } : this.#get(name)
    return await remember({ files, state: this.#state, owner }, patch, journal, signal)
  }

  /** Writes the trace of a plan (a record of what it did) into its workspace. */
  async writeTrace (name: string, id: string, text: string): Promise<void> {
    await writeTrace(this.#get(name).files, id, text)
  }

  /**
   * Finishes, or takes back, changes of files that a crash has left unfinished.
   * @param onFailure called with the name of a workspace in which that is impossible
   */
  async recover (onFailure: (workspace: string, error: Error) => void): Promise<void> {
    for (const name of this.#operator.workspaces.keys()) {
      const { files, journal } = this.#get(name)
      const names = await readdir(journal).catch(() => [])
      if (!names.some(entry => entry.endsWith('.open'))) continue
      await recoverChanges(files, journal, AbortSignal.timeout(60_000)).catch((error: unknown) => {
        onFailure(name, error as Error)
      })
    }
  }

  #get (name: string): Known {
    const known = this.#known.get(name)
    if (known !== undefined) return known
    const workspace = this.#operator.workspaces.get(name)
    if (workspace === undefined) throw new FileRefusal('WORKSPACE_UNKNOWN', `the operator of this service offers no workspace "${name}"`)
    const made = {
      workspace,
      files: new WorkspaceFiles({ root: workspace.path, hidden: [this.#state], whitelist: widened(DEFAULT_WHITELIST, workspace.mayChange ?? []) }),
      journal: join(this.#state, 'journal', encodeURIComponent(name).replaceAll('.', '%2E'))
    }
    this.#known.set(name, made)
    return made
  }
}

/** Returns an empty list for a refusal, such as that edits no longer fit their file: then there is no result to show. @throws any other error */
function unlessRefused (error: unknown): [] {
  if (error instanceof FileRefusal) return []
  throw error
}
