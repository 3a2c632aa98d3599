import { type Caller } from '../access/caller.ts'
import { operatorFor, unknownWorkspace } from '../access/rights.ts'
import { memoryUnusable, requestInvalid } from '../base/errors.ts'
import { type Json, type JsonObject } from '../base/json.ts'
import { type OperatorFile } from '../config/operator.ts'
import { FileRefusal } from '../files/workspace-files.ts'
import { readPatch } from '../files/memory-rules.ts'
import { type Workspaces } from '../files/workspaces.ts'
import { timeLimit } from '../runtime/deadline.ts'

/** In ms, for other changes of the same file. */
const PATIENCE = 10_000

/** What models shall remember of a user or a workspace, as preferences that callers can read and change. */
export class Memories {
  readonly #operator: OperatorFile
  readonly #loadWorkspaces: () => Promise<Workspaces>

  constructor (operator: OperatorFile, loadWorkspaces: () => Promise<Workspaces>) {
    this.#operator = operator
    this.#loadWorkspaces = loadWorkspaces
  }

  /** Without `workspace`, the caller's own preferences. @throws WORKSPACE_NOT_FOUND, MEMORY_UNUSABLE */
  async read (caller: Caller, workspace?: string): Promise<JsonObject> {
    this.#requireOffered(caller, workspace)
    const workspaces = await this.#loadWorkspaces()
    const { user, project, problems: [problem] = [] } = await workspaces.memory(caller.name, workspace)
    if (problem !== undefined) throw memoryUnusable(problem)
    return workspace === undefined ? user : project
  }

  /** `null` removes a field. @throws REQUEST_INVALID, WORKSPACE_NOT_FOUND, MEMORY_UNUSABLE */
  async change (caller: Caller, fields: JsonObject, workspace?: string): Promise<JsonObject> {
    this.#requireOffered(caller, workspace)
    const layer = workspace === undefined ? 'user' : 'project'
    const patch = Object.fromEntries(Object.entries(fields).map(([name, value]) => [`${layer}.${name}`, value] as const))
    const { refused } = readPatch(patch)
    if (refused.length > 0) {
      const wrong = refused.map(({ name, reason }) => `${JSON.stringify(name)}: ${reason}`).join('; ')
      throw requestInvalid(`body: expected fields of the memory with their values, as docs/plans.md has them; not so: ${wrong}`, { part: 'body' })
    }
    try {
      const workspaces = await this.#loadWorkspaces()
      const memory = await workspaces.remember(workspace, patch, { owner: caller.name, signal: timeLimit(undefined, PATIENCE) })
      return (memory as Readonly<Record<typeof layer, Json>>)[layer] as JsonObject
    } catch (error) {
      throw error instanceof FileRefusal ? memoryUnusable(error.message) : error
    }
  }

  #requireOffered (caller: Caller, workspace: string | undefined): void {
    const offered = operatorFor(this.#operator, caller)
    if (workspace !== undefined && !offered.workspaces.has(workspace)) throw unknownWorkspace(offered, workspace)
  }
}
