import { type Caller } from '../../access/caller.ts'
import { ROLES } from '../../access/role.ts'
import { Type } from '../../base/schema-builder.ts'
import { type App } from '../base/app-types.ts'
import { type Access, requireCaller } from '../security/access.ts'
import { oneOf } from '../base/schemas.ts'

const patterns = (description: string) => Type.Optional(Type.Array(Type.String(), { description: `${description}; left out: all` }))

const CallerReply = Type.Object({
  name: Type.String({ description: 'Of the token; empty where none is asked for' }),
  roles: Type.Array(oneOf([...ROLES] as [typeof ROLES[number], ...Array<typeof ROLES[number]>]), { description: 'With all that they imply' }),
  prompts: patterns('Prompts that exist for the caller, as names and patterns'),
  environs: patterns('Shared variables that do'),
  runs: patterns('What sessions may be started of'),
  targets: patterns('Targets and workspaces that sessions may use'),
  labels: Type.Optional(Type.Array(Type.String(), { description: 'Protected labels that the token may move, beside what `admin` may' })),
  serve: Type.Optional(Type.String({ description: 'The label of prompts that is served where a request says none' })),
  mode: oneOf(['tokens', 'open'], { description: 'Whether tokens are asked for' })
})

/** The route that tells callers their own name, roles and limits, so that a client offers only actions that its token allows. */
export function callerRoutes (app: App, access: Access): void {
  app.get('/api/caller', {
    config: { fails: ['TOKEN_REQUIRED', 'TOKEN_UNKNOWN'] },
    schema: { tags: ['Status'], operationId: 'getCaller', summary: 'Who asks, and what may be done', description: 'For every role.', response: { 200: CallerReply } }
  }, request => ({ ...describe(requireCaller(request, access)), mode: access.mode }))
}

function describe ({ name, roles, prompts, environs, runs, targets, labels, serve }: Caller) {
  return {
    name,
    roles: ROLES.filter(role => roles.has(role)),
    ...Object.fromEntries(
      Object.entries({ prompts, environs, runs, targets }).flatMap(([member, value]) => value === undefined ? [] : [[member, value.written]])
    ),
    ...(labels === undefined ? {} : { labels: [...labels] }),
    ...(serve === undefined ? {} : { serve })
  }
}
