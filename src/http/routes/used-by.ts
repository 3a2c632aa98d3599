import { type ErrorCode } from '../../base/error-codes.ts'
import { Type } from '../../base/schema-builder.ts'
import { type FindUsers, type Used } from '../../service/lint/find-users.ts'
import { type App } from '../base/app-types.ts'
import { rowsOf } from '../base/listing.ts'
import { EnvironId, PageQuery, PromptId, ToolId } from '../base/schemas.ts'

const UserReply = Type.Object({
  id: Type.String({ description: 'A prompt; `review.short@production` for a label whose versions use it' }),
  direct: Type.Boolean({ description: 'Whether its own text uses it' }),
  through: Type.Array(Type.String(), { description: 'Partials of it, direct or not, whose text uses it; the first 20' }),
  versions: Type.Optional(Type.Array(Type.Integer(), { description: 'Of a label: which of the versions that it means' }))
})

const kinds: ReadonlyArray<{ used: Used, missing: ErrorCode, params: typeof PromptId, operationId: string, summary: string }> = [
  { used: 'environs', missing: 'ENVIRON_NOT_FOUND', params: EnvironId, operationId: 'listEnvironUsers', summary: 'Prompts that read a shared variable' },
  { used: 'tools', missing: 'TOOL_NOT_FOUND', params: ToolId, operationId: 'listToolUsers', summary: 'Prompts that call a tool' },
  { used: 'prompts', missing: 'PROMPT_NOT_FOUND', params: PromptId, operationId: 'listPromptUsers', summary: 'Prompts that include a prompt as a partial' }
]

/** The routes that list the prompts which use an entry: a shared variable, a tool or a prompt. */
export function usedByRoutes (app: App, { findUsers }: { findUsers: FindUsers }): void {
  for (const { used, missing, params, operationId, summary } of kinds) {
    app.get(`/api/${used}/:id/used-by`, {
      config: { role: 'read', fails: [missing], headers: ['link'] },
      schema: { tags: ['Registry'], operationId, summary, description: 'In their own text or through partials; sorted by id, the next page in the Link header.', params, querystring: PageQuery, response: { 200: Type.Array(UserReply) } }
    }, async (request, reply) => {
      const { generation, caller, params: { id }, query: { after = '', limit } } = request
      const users = await findUsers({ generation, caller, used, id, after, limit: limit + 1 })
      return rowsOf(request, reply, limit, users, user => user.id)
    })
  }
}
