import { QueryClient } from '@tanstack/react-query'
import { ApiError } from './api-error.ts'

/** What is asked of a query, whatever it reads. */
export interface Failing { readonly state: { readonly error: Error | null, readonly data: unknown } }

/** The time between two attempts to read again what could not be read, in ms. */
const AGAIN = 3000

/**
 * The interval at which a query is repeated whose last attempt got no answer, or that of a service or proxy with a fault: nobody tells what has
 * changed meanwhile. Without data, the page shows the error, with a button.
 */
export function untilRead ({ state: { error, data } }: Failing): number | false {
  return data !== undefined && error !== null && (!(error instanceof ApiError) || error.status >= 500) && AGAIN
}

/** The cache of the service's replies. It does not repeat queries when the window gets the focus, since the service tells what has changed. */
export const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 30_000,
      // A browser that takes itself for offline asks all the same: what cannot be read is told, and read again when the network is back.
      networkMode: 'always',
      refetchOnReconnect: true,
      refetchInterval: untilRead,
      refetchOnWindowFocus: false,
      // A query that the service has refused is not repeated. A query without a reply, or with status 502 from a proxy, is repeated twice.
      retry: (count, error) => count < 2 && (!(error instanceof ApiError) || error.status === 502)
    }
  }
})
