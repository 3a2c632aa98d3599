import { type EnvironSource } from '../template/run.ts'
import { type CallTool } from './call-tool.ts'

/** All that a render learns beside its prompt and variables: the live service, a recording of it, or a part of either. */
export interface RenderWorld {
  readonly environs: EnvironSource
  readonly callTool: CallTool
  /** The clock that templates see. */
  readonly now: Date
}
