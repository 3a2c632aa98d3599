import { seesEverything } from '../../access/caller.ts'
import { type Registry, type RegistryStatus } from '../../registry/registry.ts'
import { Type } from '../../base/schema-builder.ts'
import { type App } from '../app-types.ts'
import { type Rotation } from '../admission/rotation.ts'

const KindStatus = Type.Object({
  entries: Type.Optional(Type.Integer()),
  revision: Type.Optional(Type.String({ description: 'Hash of the kind\'s entries; shared variables have none' })),
  held: Type.Boolean({ description: 'The store shows none of this kind, and what was loaded is kept' })
})

const Readiness = Type.Object({
  status: Type.String({ description: 'ready; stale: the store cannot be read and what was loaded is served; or loading; leaving: the process is about to stop, and still answers' }),
  generation: Type.Optional(Type.Integer()),
  revision: Type.Optional(Type.String()),
  ageSeconds: Type.Optional(Type.Number({ description: 'Since everything was last verified against the store' })),
  store: Type.Object({ variant: Type.String(), connected: Type.Boolean(), changes: Type.String({ description: 'pushed or polled' }), problem: Type.Optional(Type.String()), heldNodes: Type.Optional(Type.Array(Type.String(), { description: 'Nodes that show no key, and whose keys are kept as they were loaded' })) }),
  kinds: Type.Object({ extensions: KindStatus, prompts: KindStatus, environs: KindStatus, tools: KindStatus })
}, { description: 'Counts and revisions are left out for who may not know of all that is registered: where tokens are asked for, a token with the role `read` and without patterns may' })

/** Liveness and readiness. Liveness knows nothing of the store: a restart would not bring it back. */
export function healthRoutes (app: App, { registry, rotation }: { registry: Registry, rotation: Rotation }): void {
  app.get('/healthz', {
    logLevel: 'warn',
    schema: { tags: ['Status'], operationId: 'getHealth', summary: 'Whether the process is alive', response: { 200: Type.Object({ status: Type.Literal('ok') }) } }
  }, () => ({ status: 'ok' as const }))

  app.get('/readyz', {
    logLevel: 'warn',
    schema: { tags: ['Status'], operationId: 'getReadiness', summary: 'Whether the service can answer, and from what', response: { 200: Readiness, 503: Readiness } }
  }, async (request, reply) => {
    rotation.asked()
    const status = registry.status()
    reply.code(status.loaded && !rotation.isLeaving ? 200 : 503)
    const readiness = describeReadiness(status)
    return {
      ...(seesEverything(request.caller) ? withContents(readiness, registry) : readiness),
      ...(rotation.isLeaving ? { status: 'leaving' } : {})
    }
  })
}

function describeReadiness ({ loaded, problem, verifiedAt, store, held, heldNodes }: RegistryStatus) {
  const kind = (name: RegistryStatus['held'][number]) => ({ held: held.includes(name) })
  return {
    status: loaded ? problem === undefined ? 'ready' : 'stale' : 'loading',
    ...(verifiedAt === undefined ? {} : { ageSeconds: (Date.now() - verifiedAt.getTime()) / 1000 }),
    store: { ...store, ...(problem === undefined ? {} : { problem }), ...(heldNodes.length === 0 ? {} : { heldNodes: [...heldNodes] }) },
    kinds: { extensions: kind('extensions'), prompts: kind('templates'), environs: kind('environs'), tools: kind('tools') }
  }
}

/** With how much there is, and hashes of it. */
function withContents ({ kinds, ...rest }: ReturnType<typeof describeReadiness>, { generation, environs }: Registry) {
  const { number, revision, revisions, extensions, prompts, tools } = generation
  return {
    ...rest,
    generation: number,
    revision,
    kinds: {
      extensions: { entries: extensions.size, revision: revisions.extensions, ...kinds.extensions },
      prompts: { entries: prompts.size, revision: revisions.templates, ...kinds.prompts },
      environs: { entries: environs.index.size, ...kinds.environs },
      tools: { entries: tools.size, revision: revisions.tools, ...kinds.tools }
    }
  }
}
