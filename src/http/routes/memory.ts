import { type JsonObject } from '../../base/json.ts'
import { Type } from '../../base/schema-builder.ts'
import { type Memories } from '../../service/memories.ts'
import { type App } from '../app-types.ts'
import { replies } from '../openapi/schemas.ts'
import { WorkspaceName } from '../sessions/plan-bodies.ts'

const Fields = Type.Object({}, { additionalProperties: true, description: 'Fields of the memory, as docs/plans.md has them' })

const patchOf = (example: object) => Type.Object({}, { additionalProperties: true, description: 'Fields to change; null forgets one', examples: [example] })

const OfWorkspace = Type.Object({ workspace: WorkspaceName })

/** What is remembered of users and projects, for the models that make plans. */
export function memoryRoutes (app: App, memories: Memories): void {
  app.get('/api/memory/user', {
    config: { role: 'run' },
    schema: { tags: ['Plans'], operationId: 'getUserMemory', summary: 'Get what is remembered of you', response: replies(Fields, 400, 409) }
  }, async ({ caller }) => await memories.read(caller))

  app.patch('/api/memory/user', {
    config: { role: 'run' },
    schema: { tags: ['Plans'], operationId: 'changeUserMemory', summary: 'Change what is remembered of you', body: patchOf({ preferred_style: 'brief' }), response: replies(Fields, 400, 409, 413, 415) }
  }, async ({ caller, body }) => await memories.change(caller, body as JsonObject))

  app.get('/api/memory/project', {
    config: { role: 'run' },
    schema: { tags: ['Plans'], operationId: 'getProjectMemory', summary: 'Get what is remembered of a project', querystring: OfWorkspace, response: replies(Fields, 400, 404, 409) }
  }, async ({ caller, query }) => await memories.read(caller, query.workspace))

  app.patch('/api/memory/project', {
    config: { role: 'run' },
    schema: { tags: ['Plans'], operationId: 'changeProjectMemory', summary: 'Change what is remembered of a project', querystring: OfWorkspace, body: patchOf({ default_test_command: 'npm test' }), response: replies(Fields, 400, 404, 409, 413, 415) }
  }, async ({ caller, query, body }) => await memories.change(caller, body as JsonObject, query.workspace))
}
