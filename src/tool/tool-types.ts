import { grpcType } from './grpc/grpc-type.ts'
import { mcpType } from './mcp/mcp-type.ts'
import { restfulType } from './restful-type.ts'
import { type ToolType } from './tool-type.ts'

/** A registration that names no type belongs to the first one. Only the file that puts the service together imports this table. */
export const TOOL_TYPES: readonly ToolType[] = [restfulType, grpcType, mcpType]
