import { type Registry } from '../../registry/registry.ts'
import { Type } from '../../base/schema-builder.ts'
import { type App } from '../app-types.ts'
import { type Rotation } from '../rotation.ts'

const KindStatus = Type.Object({
  entries: Type.Integer(),
  revision: Type.Optional(Type.String({ description: 'Hash of the kind\'s entries; shared variables have none' })),
  held: Type.Boolean({ description: 'The store shows none of this kind, and what was loaded is kept' })
})

const Readiness = Type.Object({
  status: Type.String({ description: 'ready; stale: the store cannot be read and what was loaded is served; or loading; leaving: the process is about to stop, and still answers' }),
  generation: Type.Integer(),
  revision: Type.String(),
  ageSeconds: Type.Optional(Type.Number({ description: 'Since everything was last verified against the store' })),
  store: Type.Object({ variant: Type.String(), connected: Type.Boolean(), changes: Type.String({ description: 'pushed or polled' }), problem: Type.Optional(Type.String()), heldNodes: Type.Optional(Type.Array(Type.String(), { description: 'Nodes that show no key, and whose keys are kept as they were loaded' })) }),
  kinds: Type.Object({ extensions: KindStatus, prompts: KindStatus, environs: KindStatus, tools: KindStatus })
})

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
    const readiness = describeReadiness(registry, status, request.generation)
    return rotation.isLeaving ? { ...readiness, status: 'leaving' } : readiness
  })
}

function describeReadiness (registry: Registry, status: ReturnType<Registry['status']>, generation: Registry['generation']) {
  const { extensions, prompts, tools, revisions } = generation
  const held = (kind: typeof status.held[number]) => status.held.includes(kind)
  return {
    status: status.loaded ? status.problem === undefined ? 'ready' : 'stale' : 'loading',
    generation: generation.number,
    revision: generation.revision,
    ...(status.verifiedAt === undefined ? {} : { ageSeconds: (Date.now() - status.verifiedAt.getTime()) / 1000 }),
    store: { ...status.store, ...(status.problem === undefined ? {} : { problem: status.problem }), ...(status.heldNodes.length === 0 ? {} : { heldNodes: [...status.heldNodes] }) },
    kinds: {
      extensions: { entries: extensions.size, revision: revisions.extensions, held: held('extensions') },
      prompts: { entries: prompts.size, revision: revisions.templates, held: held('templates') },
      environs: { entries: registry.environs.index.size, held: held('environs') },
      tools: { entries: tools.size, revision: revisions.tools, held: held('tools') }
    }
  }
}
