import { seesEverything } from '../../access/caller.ts'
import { isEntryKind, type Kind } from '../../registry/kinds/kind.ts'
import { offeredOf } from '../../registry/generation/offered.ts'
import { releaseKind } from '../../registry/kinds/release/release-kind.ts'
import { type Registry } from '../../registry/registry.ts'
import { Type } from '../../base/schema-builder.ts'
import { type App } from '../base/app-types.ts'
import { type RunningSessions } from '../../service/sessions/running-sessions.ts'
import { type Rotation } from '../admission/rotation.ts'

const KindStatus = Type.Object({
  entries: Type.Optional(Type.Integer()),
  revision: Type.Optional(Type.String({ description: 'Hash of the kind\'s entries; shared variables have none' })),
  stale: Type.Optional(Type.Integer({ description: 'How many have a broken value in the store, in whose place an earlier version is served; left out for none' })),
  held: Type.Boolean({ description: 'The store has lost what was loaded of this kind; what has not come back is kept' }),
  problem: Type.Optional(Type.String({ description: 'Of releases: why no label is served' }))
})

const readinessOf = (kinds: readonly Kind[]) => Type.Object({
  status: Type.String({ description: 'ready; stale: the store cannot be read and what was loaded is served; or loading; leaving: the process is about to stop, and still answers' }),
  generation: Type.Optional(Type.Integer()),
  revision: Type.Optional(Type.String()),
  ageSeconds: Type.Optional(Type.Number({ description: 'Since everything was last verified against the store' })),
  store: Type.Object({ variant: Type.String(), connected: Type.Boolean(), changes: Type.String({ description: 'pushed or polled' }), problem: Type.Optional(Type.String()), heldNodes: Type.Optional(Type.Array(Type.String(), { description: 'Nodes that show no key, and whose keys are kept as they were loaded' })) }),
  sessions: Type.Object({ available: Type.Boolean(), details: Type.Optional(Type.String({ description: 'Why sessions cannot be had now, or what they wait for' })) }, { description: 'Whether sessions can be had; the rest of the service does not need them' }),
  kinds: Type.Object(Object.fromEntries(kinds.map(({ name }) => [name, KindStatus])))
}, { description: 'Counts and revisions are left out for who may not know of all that is registered: where tokens are asked for, a token with the role `read` and without patterns may' })

/** The routes of liveness and readiness. Liveness does not depend on the store: a restart would not bring the store back. */
export function healthRoutes (app: App, { registry, rotation, sessions }: {
  registry: Registry,
  rotation: Rotation,
  sessions: Pick<RunningSessions, 'problem' | 'waits'>
}): void {
  const Readiness = readinessOf(registry.kinds)
  app.get('/healthz', {
    logLevel: 'warn',
    schema: { tags: ['Status'], operationId: 'getHealth', summary: 'Whether the process is alive', response: { 200: Type.Object({ status: Type.Literal('ok') }) } }
  }, () => ({ status: 'ok' as const }))

  app.get('/readyz', {
    logLevel: 'warn',
    schema: { tags: ['Status'], operationId: 'getReadiness', summary: 'Whether the service can answer, and from what', response: { 200: Readiness, 503: Readiness } }
  }, async (request, reply) => {
    rotation.asked()
    reply.code(registry.status().loaded && !rotation.isLeaving ? 200 : 503)
    return {
      ...describeReadiness(registry, seesEverything(request.caller)),
      sessions: describeSessions(sessions.problem(), sessions.waits()),
      ...(rotation.isLeaving ? { status: 'leaving' } : {})
    }
  })
}

function describeSessions (problem: string | undefined, waits: readonly string[]) {
  const details = problem ?? (waits.length === 0 ? undefined : waits.join('; '))
  return { available: problem === undefined, ...(details === undefined ? {} : { details }) }
}

/**
 * Describes readiness. @param hasContents whether the description has the numbers and hashes of entries, which not every caller may see
 */
function describeReadiness (registry: Registry, hasContents: boolean) {
  const { generation, environs, kinds } = registry
  const { loaded, problem, verifiedAt, store, held, heldNodes, labelsProblem } = registry.status()
  const contentsOf = (kind: Kind) => isEntryKind(kind)
    ? { entries: offeredOf(generation, kind).size, revision: generation.revisions.get(kind.key) ?? '', stale: registry.stale(kind) || undefined }
    : { entries: environs.index.size }
  return {
    status: loaded ? problem === undefined ? 'ready' : 'stale' : 'loading',
    ...(hasContents ? { generation: generation.number, revision: generation.revision } : {}),
    ...(verifiedAt === undefined ? {} : { ageSeconds: (Date.now() - verifiedAt.getTime()) / 1000 }),
    store: { ...store, ...(problem === undefined ? {} : { problem }), ...(heldNodes.length === 0 ? {} : { heldNodes: [...heldNodes] }) },
    kinds: Object.fromEntries(kinds.map(kind => [
      kind.name,
      {
        ...(hasContents ? contentsOf(kind) : {}),
        held: held.includes(kind.key),
        ...(kind === releaseKind && labelsProblem !== undefined ? { problem: labelsProblem } : {})
      }
    ]))
  }
}
