import { QueryClient } from '@tanstack/react-query'
import { ApiError } from './api-error.ts'

/** What was asked for is kept while it is shown; what has changed is told by the service, not asked for again and again. */
export const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 30_000,
      refetchOnWindowFocus: false,
      // What was refused stays refused; what could not be reached may come back.
      retry: (count, error) => count < 2 && (!(error instanceof ApiError) || error.status === 502)
    }
  }
})
