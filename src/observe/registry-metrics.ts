import { Counter, Gauge, type Registry as PrometheusRegistry } from 'prom-client'
import { offeredOf } from '../registry/offered.ts'
import { type Registry } from '../registry/registry.ts'
import { kindPrefix } from '../store/store.ts'

interface CacheMetrics {
  readonly hits: number
  readonly misses: number
  readonly entries: number
  readonly bytes: number
}

export type WatchedRegistry = Pick<Registry, 'kinds' | 'generation' | 'environs' | 'status' | 'problems'>

/** Read only when Prometheus asks. All processes hold the same entries, so the largest number is reported, not the sum. */
export function addRegistryMetrics (target: PrometheusRegistry, registry: WatchedRegistry, keyPrefix: string): void {
  const gauge = (name: string, help: string, labelNames: readonly string[], collect: (gauge: Gauge) => void): void => {
    const created: Gauge = new Gauge({
      name: `prompt_shell_registry_${name}`,
      help,
      labelNames,
      aggregator: 'max',
      registers: [target],
      collect: () => {
        collect(created)
      }
    })
  }

  gauge('entries', 'What is registered and offered', ['kind'], entries => {
    for (const kind of registry.kinds) {
      entries.set({ kind: kind.name }, kind.reading === 'lazy' ? registry.environs.index.size : offeredOf(registry.generation, kind).size)
    }
  })
  gauge('rejected_entries', 'Keys not served as they are stored; GET /api/status/entries has the reasons', ['kind'], rejected => {
    const problems = registry.problems()
    for (const kind of registry.kinds) {
      const prefix = kindPrefix(keyPrefix, kind.key)
      rejected.set({ kind: kind.key }, problems.filter(({ key }) => key.startsWith(prefix)).length)
    }
  })
  gauge('held_kinds', 'Kinds that are held, since the store suddenly shows none', [], held => { held.set(registry.status().held.length) })
  gauge('held_nodes', 'Nodes of the store whose keys are held, since they suddenly show none', [], held => { held.set(registry.status().heldNodes.length) })
  gauge('generation', 'Generation in force, counted by this process', [], generation => {
    generation.set(registry.generation.number)
  })
  gauge('age_seconds', 'Time since all was last verified against the store; infinite before', [], age => {
    const { verifiedAt } = registry.status()
    age.set(verifiedAt === undefined ? Infinity : (Date.now() - verifiedAt.getTime()) / 1000)
  })
  gauge('store_connected', '1 while the store can be reached, else 0', [], connected => { connected.set(registry.status().store.connected ? 1 : 0) })
  gauge('changes_pushed', '1 while the store tells of changes, 0 while it is asked for them', [], pushed => {
    pushed.set(registry.status().store.changes === 'pushed' ? 1 : 0)
  })
}

export function addCacheMetrics (target: PrometheusRegistry, caches: Readonly<Record<string, () => CacheMetrics>>): void {
  const labelNames = ['cache']
  const counter = (name: string, help: string, read: (statistics: CacheMetrics) => number): void => {
    const created: Counter = new Counter({
      name: `prompt_shell_cache_${name}`,
      help,
      labelNames,
      registers: [target],
      collect () {
        created.reset()
        for (const [cache, statistics] of Object.entries(caches)) created.inc({ cache }, read(statistics()))
      }
    })
  }
  const gauge = (name: string, help: string, read: (statistics: CacheMetrics) => number): void => {
    const created: Gauge = new Gauge({
      name: `prompt_shell_cache_${name}`,
      help,
      labelNames,
      registers: [target],
      collect () {
        for (const [cache, statistics] of Object.entries(caches)) created.set({ cache }, read(statistics()))
      }
    })
  }

  counter('hits_total', 'Look-ups that found what they wanted', ({ hits }) => hits)
  counter('misses_total', 'Look-ups in vain', ({ misses }) => misses)
  gauge('entries', 'What a cache holds now', ({ entries }) => entries)
  gauge('bytes', 'Its size, as the cache counts it', ({ bytes }) => bytes)
}

export function addSessionMetrics (target: PrometheusRegistry, sessions: { unknown (): ReadonlyMap<string, number> }): void {
  const created: Gauge = new Gauge({
    name: 'prompt_shell_sessions_engine_unknown',
    help: 'Sessions that wait for an engine that no process has',
    labelNames: ['engine'],
    aggregator: 'max',
    registers: [target],
    collect () {
      created.reset()
      for (const [engine, count] of sessions.unknown()) created.set({ engine }, count)
    }
  })
}
