import { contentHash, type Json } from '../../base/json.ts'
import { type ApiClient } from '../api-client.ts'
import { pathOf } from '../entries/publish.ts'
import { type RemoteEntry } from './compare.ts'

/**
 * Reads the value of an entry from a service. `isWhole` is false if the reply does not have the whole value: the service leaves out
 * credentials in clear text, and the parts of a value that are entries of their own.
 */
export async function remoteValue (api: ApiClient, { kind, id, tag }: RemoteEntry): Promise<{ readonly value: Json, readonly isWhole: boolean }> {
  const value = kind.registeredIn(await api.get(pathOf(kind, id)))
  return { value, isWhole: contentHash(value) === tag }
}
