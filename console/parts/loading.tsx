import { type UseQueryResult } from '@tanstack/react-query'
import { type ReactNode } from 'react'
import { t } from '../text/text.ts'
import { ErrorNote } from './error-note.tsx'

/** Shows the result of a query. Until there is a result, it says that the result is loading, or shows the error. */
export function Loaded<T> ({ query, children }: { readonly query: UseQueryResult<T>, readonly children: (value: T) => ReactNode }) {
  if (query.data !== undefined) return <>{query.error !== null && <ErrorNote error={query.error} />}{children(query.data)}</>
  if (query.error !== null) return <ErrorNote error={query.error} onRetry={() => { void query.refetch() }} />
  return <p className='quiet loading' role='status'>{t.loading}</p>
}
