import { type EnvironSource } from '../../template/run/environ-source.ts'
import { type CallTool, type RecallTool } from './call-tool.ts'

/** All that a render learns beside its prompt and variables: the live service, a recording of it, or a part of either. */
export interface RenderEnvironment {
  readonly environs: EnvironSource
  readonly callTool: CallTool
  /** Left out where every call is to be made. */
  readonly recallTool?: RecallTool | undefined
  /** The clock that templates see. @default the time at which one of them first looks */
  readonly now?: Date | undefined
}
