import { useQuery } from '@tanstack/react-query'
import { useEffect, useRef } from 'react'
import type { paths } from '../../.build/api.d.ts'
import { send } from './client.ts'
import { queries } from './queries.ts'

export type Readiness = paths['/readyz']['get']['responses']['200']['content']['application/json']

/** How the service is, as far as a page has to know. */
export interface Status {
  /** `gone`: the service itself does not answer. */
  readonly state: 'live' | 'stale' | 'held' | 'gone'
  /** Since when what is served is not what is stored, in ms since 1970. */
  readonly since?: number
  readonly readiness?: Readiness
}

/** Time between two looks while the tab is seen, in ms. */
const INTERVAL = 3000

/** How the service is; when what is registered has changed, everything that is shown of it is asked for again. */
export function useStatus (): Status {
  const { data, error, errorUpdatedAt, dataUpdatedAt } = useQuery({
    queryKey: ['ready'],
    queryFn: askReadiness,
    refetchInterval: INTERVAL,
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

/** A service that is not ready says so with 503, and how it is all the same. */
async function askReadiness (): Promise<Readiness> {
  return await (await send(new Request('/readyz'))).json() as Readiness
}
