import { type Activity } from '../../runtime/activity.ts'
import { type Caller } from '../../access/caller.ts'
import { type RightsWatch } from '../../access/rights-watch.ts'
import { type Environs } from '../../registry/kinds/environ/environs.ts'
import { type Generation } from '../../registry/generation/generation.ts'
import { type ReadEnviron } from '../../service/render/read-environ.ts'
import { type ChoosePrompt } from '../../service/versions/choose-prompt.ts'
import { type RenderPrompt } from '../../service/render/render-prompt.ts'
import { type TryTool } from '../../service/tools/try-tool.ts'

/** One request of an MCP client: who asks, and the entries that this caller may see. */
export interface Visit {
  readonly generation: Generation
  readonly caller: Caller
  readonly requestId: string
  readonly activity: Activity
  /** The time when the whole body had arrived, in ms of `performance.now()`. */
  readonly arrivedAt: number | undefined
  /** Aborts when the client has left. */
  readonly signal: AbortSignal
}

/** The functions of the service that MCP clients can reach. */
export interface McpUses {
  readonly renderPrompt: RenderPrompt
  readonly choosePrompt: ChoosePrompt
  readonly readEnviron: ReadEnviron
  readonly tryTool: TryTool
  readonly environs: Environs
  readonly rights: RightsWatch
}
