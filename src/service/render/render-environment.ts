import { type EnvironSource } from '../../template/run/environ-source.ts'
import { type CallTool, type RecallTool } from './call-tool.ts'

/** What a render reads beside its prompt and variables: shared variables, results of tools, and the clock. They are live, or come from a recording. */
export interface RenderEnvironment {
  readonly environs: EnvironSource
  readonly callTool: CallTool
  /** Looks for results of tool calls in the cache; left out if every call has to be made. */
  readonly recallTool?: RecallTool | undefined
  /** The time that templates see as the present. @default the time at which a template first asks for it */
  readonly now?: Date | undefined
}
