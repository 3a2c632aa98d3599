import { ApiError } from './api-error.ts'
import { api, takeTagged } from './client.ts'
import type { Tagged } from './tagged.ts'

/** Reads the value of a shared variable as JSON, all digits kept, and its entity tag; both are `undefined` for a variable that is not stored. */
export async function readEnviron (id: string): Promise<Tagged<string | undefined>> {
  try {
    return await takeTagged(api.GET('/api/environs/{id}', { params: { path: { id } }, parseAs: 'text' }))
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return { value: undefined, tag: undefined }
    throw error
  }
}
