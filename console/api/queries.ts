import { QueryClient } from '@tanstack/react-query'
import { ApiError } from './api-error.ts'

/** The cache of the service's replies. It does not repeat queries when the window gets the focus, since the service tells what has changed. */
export const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 30_000,
      // A browser that takes itself for offline asks all the same: what cannot be read is told, and read again when the network is back.
      networkMode: 'always',
      refetchOnReconnect: true,
      refetchOnWindowFocus: false,
      // A query that the service has refused is not repeated. A query without a reply, or with status 502 from a proxy, is repeated twice.
      retry: (count, error) => count < 2 && (!(error instanceof ApiError) || error.status === 502)
    }
  }
})
