import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { type JsonObject } from '../base/json.ts'
import { type OperatorFile, type Workspace } from '../config/operator.ts'
import { applyChange, recoverChanges } from './change/apply.ts'
import { parseChange } from './change/change.ts'
import { contentsOf } from './change/contents.ts'
import { withContents } from './change/edited.ts'
import { type ChangeOutcome, Journal } from './change/journal.ts'
import { dryTurn, type DryTurn } from './change/dry-turn.ts'
import { type ContentOf, type Page, pageOf, type Touched } from './change/page.ts'
import { fulfil } from './context/fulfil.ts'
import { FileRefusal } from './file-refusal.ts'
import { type Memory, readMemory, remember } from './memory/memory-files.ts'
import { DEFAULT_WHITELIST, widened } from './path-rules.ts'
import { WorkspaceFiles } from './workspace-files.ts'
import { writeTrace } from './write-trace.ts'

/** A workspace that is in use. */
interface Known {
  readonly workspace: Workspace
  readonly files: WorkspaceFiles
  /** Folder of its journal. */
  readonly journal: string
}

/** For whom something is done in a workspace. */
export interface Asker {
  /** The session that asks; its changes can be shown. @default none */
  readonly session?: string
  /** The name of a token; empty without tokens. */
  readonly owner: string
  /** Ends a search, and the waiting for others. */
  readonly signal: AbortSignal
}

/** A change of a session. */
interface ChangeOf {
  readonly session: string
  readonly change: JsonObject
}

/** The workspaces that the operator offers, by their names. Each method throws FileRefusal WORKSPACE_UNKNOWN for any other. */
export class Workspaces {
  readonly #operator: OperatorFile
  readonly #state: string
  readonly #known = new Map<string, Known>()

  /** @param state folder of the service's state, absolute */
  constructor (operator: OperatorFile, state: string) {
    this.#operator = operator
    this.#state = state
  }

  /** A block for each request. */
  async read (name: string, requests: readonly JsonObject[], { session = '', owner, signal }: Asker): Promise<JsonObject[]> {
    const {
      workspace: { logs },
      files,
      journal
    } = this.#get(name)
    return await fulfil(requests, { files, journal: new Journal(journal), session, state: this.#state, owner, logs, signal })
  }

  /** Changes files, takes that back, or does it again; once for each effect of a session. */
  async apply (
    name: string,
    given: { readonly session: string; readonly effect: string; readonly change: JsonObject; readonly signal: AbortSignal }
  ): Promise<ChangeOutcome> {
    const { files, journal } = this.#get(name)
    return await applyChange({ files, journal, ...given })
  }

  /** What it would come to if changes of a session were taken back, or done again. @param paths what is meant, or what is below */
  async dryTurn (name: string, kind: 'undo' | 'redo', session: string, paths: readonly string[]): Promise<DryTurn> {
    const { files, journal } = this.#get(name)
    return await dryTurn(kind, await new Journal(journal).endedOf(session), paths, files)
  }

  /** A part of what a change of a session touches, as it was shown. */
  async page (
    name: string,
    { touched, after, limit, ...of }: ChangeOf & { readonly touched: readonly Touched[]; readonly after: number; readonly limit: number }
  ): Promise<Page> {
    return await pageOf(touched, await this.#contentsOf(name, of), after, limit)
  }

  /** A file before or after a change of a session. `undefined` where that content is kept nowhere any more. */
  async content (name: string, { path, sha256, ...of }: ChangeOf & { readonly path: string; readonly sha256: string }): Promise<Buffer | undefined> {
    return await (await this.#contentsOf(name, of))(path, sha256)
  }

  async #contentsOf (name: string, { session, change: given }: ChangeOf): Promise<ContentOf> {
    const { files, journal } = this.#get(name)
    const change = parseChange(given)
    const actions = change.kind === 'do' ? await withContents(change, files).catch(unlessRefused) : []
    return contentsOf({ files, journal: new Journal(journal), session }, actions)
  }

  /** What is remembered of an owner and, where one is named, of a workspace. */
  async memory (owner: string, name?: string): Promise<Memory> {
    return await readMemory({ files: name === undefined ? undefined : this.#get(name).files, state: this.#state, owner })
  }

  /**
   * @param name of a workspace; without one, only what is of the owner can be remembered
   * @returns what was remembered and dropped, and all that is remembered now
   * @throws FileRefusal
   */
  async remember (name: string | undefined, patch: JsonObject, { owner, signal }: Asker): Promise<JsonObject> {
    const { files, journal } = name === undefined ? { files: undefined, journal: join(this.#state, 'papa-yu') } : this.#get(name)
    return await remember({ files, state: this.#state, owner }, patch, journal, signal)
  }

  /** Writes the trace of a plan. */
  async writeTrace (name: string, id: string, text: string): Promise<void> {
    await writeTrace(this.#get(name).files, id, text)
  }

  /**
   * Finishes, or takes back, changes that a crash has left unfinished.
   * @param onFailure told of a workspace in which that is impossible
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

/** Edits that fit their file no more write nothing that anybody could be shown. */
function unlessRefused (error: unknown): [] {
  if (error instanceof FileRefusal) return []
  throw error
}
