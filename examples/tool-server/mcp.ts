import { createMcpHandler, fromJsonSchema, McpServer } from '@modelcontextprotocol/server'
import { type Project } from './project.ts'

const FILE = fromJsonSchema<{ file: string }>({ type: 'object', properties: { file: { type: 'string', description: 'Path in the project' } }, required: ['file'] })

/** MCP: the tool `outline` gives the functions that a file declares. */
export function createMcp (project: Project) {
  return createMcpHandler(() => {
    const server = new McpServer({ name: 'project', version: '1.0.0' })
    server.registerTool('outline', { description: 'Lists the functions that a file declares', inputSchema: FILE }, ({ file }) => {
      const functions = project.outline(file)
      if (functions === undefined) return { isError: true, content: [{ type: 'text', text: `there is no file ${file}` }] }
      return { content: [{ type: 'text', text: JSON.stringify({ functions }) }], structuredContent: { functions } }
    })
    return server
  })
}
