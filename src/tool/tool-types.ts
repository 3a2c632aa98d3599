import { grpcType } from './grpc/grpc-type.ts'
import { mcpType } from './mcp/mcp-type.ts'
import { restfulType } from './rest/restful-type.ts'
import { type ToolType } from './tool-type.ts'

/**
 * The types of tools that the service knows; a registration that names none is of the first. Whoever needs them is given
 * them; only where the service is put together is this read.
 */
export const TOOL_TYPES: readonly ToolType[] = [restfulType, grpcType, mcpType]
