import { ApiError } from './api-error.ts'
import { api, takeTagged } from './client.ts'
import type { Tagged } from './tagged.ts'

/** Reads the value of a shared variable and its entity tag; both are `undefined` for a variable that is not stored. */
export async function readEnviron (id: string): Promise<Tagged<unknown>> {
  try {
    return await takeTagged<unknown>(api.GET('/api/environs/{id}', { params: { path: { id } } }))
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return { value: undefined, tag: undefined }
    throw error
  }
}
