import { type JsonObject } from '../../base/json.ts'
import { Type } from '../../base/schema-builder.ts'
import { type Memories } from '../../service/memories.ts'
import { type App } from '../base/app-types.ts'
import { WorkspaceName } from '../sessions/plan-bodies.ts'

const Fields = Type.Object({}, { additionalProperties: true, description: 'Fields of the memory, as docs/plans.md has them' })

const patchOf = (example: object) => Type.Object({}, { additionalProperties: true, description: 'Fields to change; null forgets one', examples: [example] })

const OfWorkspace = Type.Object({ workspace: WorkspaceName })

/** The routes of the memory about users and projects, which models read when they make plans. */
export function memoryRoutes (app: App, memories: Memories): void {
  app.get('/api/memory/user', {
    config: { role: 'run', fails: ['MEMORY_UNUSABLE'] },
    schema: { tags: ['Plans'], operationId: 'getUserMemory', summary: 'Get what is remembered of you', response: { 200: Fields } }
  }, async ({ caller }) => await memories.read(caller))

  app.patch('/api/memory/user', {
    config: { role: 'run', fails: ['MEMORY_UNUSABLE'] },
    schema: { tags: ['Plans'], operationId: 'changeUserMemory', summary: 'Change what is remembered of you', body: patchOf({ preferred_style: 'brief' }), response: { 200: Fields } }
  }, async ({ caller, body }) => await memories.change(caller, body as JsonObject))

  app.get('/api/memory/project', {
    config: { role: 'run', fails: ['WORKSPACE_NOT_FOUND', 'MEMORY_UNUSABLE'] },
    schema: { tags: ['Plans'], operationId: 'getProjectMemory', summary: 'Get what is remembered of a project', querystring: OfWorkspace, response: { 200: Fields } }
  }, async ({ caller, query }) => await memories.read(caller, query.workspace))

  app.patch('/api/memory/project', {
    config: { role: 'run', fails: ['WORKSPACE_NOT_FOUND', 'MEMORY_UNUSABLE'] },
    schema: { tags: ['Plans'], operationId: 'changeProjectMemory', summary: 'Change what is remembered of a project', querystring: OfWorkspace, body: patchOf({ default_test_command: 'npm test' }), response: { 200: Fields } }
  }, async ({ caller, query, body }) => await memories.change(caller, body as JsonObject, query.workspace))
}
