import { grpcType } from './grpc/grpc-type.ts'
import { mcpType } from './mcp/mcp-type.ts'
import { restfulType } from './rest/restful-type.ts'
import { type ToolType } from './tool-type.ts'

/**
 * The types of tools that the service knows. A registration that names no type has the first one. Only the code that puts the service together reads
 * this table; other code is given it.
 */
export const TOOL_TYPES: readonly ToolType[] = [restfulType, grpcType, mcpType]
