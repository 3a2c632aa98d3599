import { type Caller, seesEverything } from '../../access/caller.ts'
import { Type } from '../../schema/builder.ts'
import { placed } from '../../registry/diagnostic-table.ts'
import { offeredOf } from '../../registry/offered.ts'
import { isEntryKind, type Kind } from '../../registry/kinds/entry-kind.ts'
import { releaseKind } from '../../registry/kinds/release-kind.ts'
import type { Registry } from '../../registry/registry.ts'
import type { ListNotices } from '../../service/lint/list-notices.ts'
import type { SessionService } from '../../service/sessions/session-service.ts'
import type { Access } from '../access.ts'
import type { App } from '../app.ts'
import type { Rotation } from '../connections.ts'
import { rowsOf } from '../resource.ts'
import { PageQuery, PlacedDiagnosticReply } from '../schemas.ts'

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
  identities: Type.Optional(Type.Object({ available: Type.Boolean(), details: Type.Optional(Type.String({ description: 'Why its keys could not be read the last time' })) }, { description: 'Whether the identity provider tells its keys; without it, those that are known stay in force. Left out without one' })),
  kinds: Type.Object(Object.fromEntries(kinds.map(({ name }) => [name, KindStatus])))
}, { description: 'Counts and revisions are left out for who may not know of all that is registered: where tokens are asked for, a token with the role `read` and without patterns may' })

/** Liveness does not depend on the store: a restart would not bring the store back. */
export function healthRoutes (app: App, { registry, rotation, access, sessions }: {
  registry: Registry,
  rotation: Rotation,
  access: Access,
  sessions: Pick<SessionService, 'problem' | 'waits'>
}): void {
  const Readiness = readinessOf(registry.kinds)
  const provider = access.mode === 'tokens' ? access.identities?.holders.provider : undefined
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
      identities: provider && { available: provider.problem === undefined, details: provider.problem },
      ...(rotation.isLeaving ? { status: 'leaving' } : {})
    }
  })
}

function describeSessions (problem: string | undefined, waits: readonly string[]) {
  const details = problem ?? (waits.length === 0 ? undefined : waits.join('; '))
  return { available: problem === undefined, details }
}

/** @param hasContents whether it has numbers and hashes of entries, which not every caller may see */
function describeReadiness (registry: Registry, hasContents: boolean) {
  const { generation, environs, kinds } = registry
  const { loaded, problem, verifiedAt, store, held, heldNodes, labelsProblem } = registry.status()
  const contentsOf = (kind: Kind) => isEntryKind(kind)
    ? { entries: offeredOf(generation, kind).size, revision: generation.revisions.get(kind.key) ?? '', stale: registry.stale(kind) || undefined }
    : { entries: environs.index.size }
  return {
    status: loaded ? problem === undefined ? 'ready' : 'stale' : 'loading',
    generation: hasContents ? generation.number : undefined,
    revision: hasContents ? generation.revision : undefined,
    ageSeconds: verifiedAt === undefined ? undefined : (Date.now() - verifiedAt.getTime()) / 1000,
    store: { ...store, problem, heldNodes: heldNodes.length === 0 ? undefined : [...heldNodes] },
    kinds: Object.fromEntries(kinds.map(kind => [
      kind.name,
      {
        ...(hasContents ? contentsOf(kind) : {}),
        held: held.includes(kind.key),
        problem: kind === releaseKind && labelsProblem !== undefined ? labelsProblem : undefined
      }
    ]))
  }
}

const EntryStatus = Type.Object({
  key: Type.Optional(Type.String({ description: 'The key in the store, for an entry that is not served as it is stored' })),
  id: Type.Optional(Type.String({ description: 'The extension, prompt or tool, for one that is listed' })),
  cursor: Type.String({ description: 'Its place in this listing', examples: ['entries/shenma:tools:x', 'prompts/evaluator.evaluate_quality'] }),
  state: Type.String({ description: 'rejected; stale: an earlier version is served; noticed: it is served, and something is odd; of what is listed: its state, such as valid, invalid, unlinked, active, degraded' }),
  version: Type.Optional(Type.Integer({ description: 'Of a prompt that is stale: which recorded version is served' })),
  diagnostics: Type.Array(PlacedDiagnosticReply, { description: 'The first 50' })
})

export function statusRoutes (app: App, { registry, reload, listNotices }: {
  registry: Registry,
  reload: () => Promise<void>,
  listNotices: ListNotices
}): void {
  app.get('/api/status/entries', {
    config: { role: 'read', headers: ['link'] },
    schema: { tags: ['Status'], operationId: 'listEntryProblems', summary: 'Entries about which something was noticed, with the reasons', description: 'First what is not served as it is stored, by key; then extensions, prompts and tools, by id. The next page is in the Link header.', querystring: PageQuery, response: { 200: Type.Array(EntryStatus) } }
  }, async (request, reply) => {
    const { after = '', limit } = request.query
    const notices = await listNotices({ generation: request.generation, caller: request.caller, after, limit: limit + 1 })
    return rowsOf(request, reply, limit, notices, notice => notice.cursor).map(notice => ({ ...notice, diagnostics: notice.diagnostics.map(placed) }))
  })

  app.post('/api/status/reload', {
    config: { role: 'admin' },
    schema: { tags: ['Status'], operationId: 'reload', summary: 'Read the store now, and believe it when it is empty', response: { 200: Type.Object({ revision: Type.String(), problem: Type.Optional(Type.String()) }) } }
  }, async () => {
    await reload()
    const { problem } = registry.status()
    return { revision: registry.generation.revision, problem }
  })
}

/** Needs `read`: metrics show names and uses. A token for some prompts does not see those of the others. */
export function metricsRoutes (app: App, { readMetrics }: { readMetrics: () => Promise<string> }): void {
  app.get('/metrics', {
    logLevel: 'warn',
    config: { role: 'read' },
    schema: {
      tags: ['Status'],
      operationId: 'getMetrics',
      summary: 'Metrics in Prometheus\' text format',
      response: { 200: { description: 'All metrics', content: { 'text/plain': { schema: Type.String() } } } }
    }
  }, async (request, reply) => {
    const lines = visibleLines(await readMetrics(), request.caller)
    return reply.type('text/plain; version=0.0.4; charset=utf-8').serializer(String).send(lines)
  })
}

function visibleLines (text: string, { prompts: patterns }: Caller): string {
  if (patterns === undefined) return text
  return text.split('\n').filter(line => {
    const [, prompt] = /[{,]prompt="((?:[^"\\]|\\.)*)"/.exec(line) ?? []
    return prompt === undefined || patterns.allows(prompt)
  }).join('\n')
}
