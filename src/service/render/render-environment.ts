import { type EnvironSource } from '../../template/run/environ-source.ts'
import { type CallTool, type RecallTool } from './call-tool.ts'

/** The sources of a render beside its prompt and variables: shared variables, tools and the clock. They are live, or played from a recording. */
export interface RenderEnvironment {
  readonly environs: EnvironSource
  readonly callTool: CallTool
  /** Looks calls up in the cache; left out when every call is to be made. */
  readonly recallTool?: RecallTool | undefined
  /** The clock that templates see. @default the time at which one of them first looks */
  readonly now?: Date | undefined
}
