import { useQuery } from '@tanstack/react-query'
import { useEffect, useRef } from 'react'
import type { paths } from '../../.build/api.d.ts'
import { useIsAway } from './changes.ts'
import { send } from './client.ts'
import { queries } from './queries.ts'

type Readiness = paths['/readyz']['get']['responses']['200']['content']['application/json']

/** The state of the service, as far as the console shows it. */
export interface Status {
  /**
   * `stale`: the service cannot reach its store. `held`: the store suddenly shows no entry of a kind, and the service still serves the
   * entries that it had. `gone`: the service does not answer.
   */
  readonly state: 'live' | 'stale' | 'held' | 'gone'
  /** Since when the service does not follow its store (`stale`) or does not answer (`gone`), in ms since 1970; left out otherwise. */
  readonly since?: number
  readonly readiness?: Readiness
}

/** The time between two requests for the state of the service while the tab is visible, with the stream of events and without it, in ms. */
const [INTERVAL, INTERVAL_AWAY] = [15_000, 3000]

/** Returns the state of the service. When the registry's revision has changed, all shown data of the registry is requested again. */
export function useStatus (): Status {
  const { data, error, errorUpdatedAt, dataUpdatedAt } = useQuery({
    queryKey: ['ready'],
    queryFn: askReadiness,
    refetchInterval: useIsAway() ? INTERVAL_AWAY : INTERVAL,
    staleTime: 0,
    retry: false
  })
  const revision = data?.revision
  const seen = useRef(revision)
  useEffect(() => {
    const hasChanged = seen.current !== undefined && revision !== undefined && seen.current !== revision
    if (hasChanged) void queries.invalidateQueries({ queryKey: ['registry'] })
    seen.current = revision ?? seen.current
  }, [revision])
  if (error !== null) return { state: 'gone', since: dataUpdatedAt === 0 ? errorUpdatedAt : dataUpdatedAt }
  if (data === undefined) return { state: 'live' }
  if (!data.store.connected) return { state: 'stale', since: Date.now() - (data.ageSeconds ?? 0) * 1000, readiness: data }
  return { state: Object.values(data.kinds).some(({ held }) => held) ? 'held' : 'live', readiness: data }
}

/** Requests the state of the service. A service that is not ready replies with status 503, and the reply still has the state. */
async function askReadiness (): Promise<Readiness> {
  return await (await send(new Request('/readyz'))).json() as Readiness
}
