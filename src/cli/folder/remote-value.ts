import { contentHash, type Json } from '../../base/json.ts'
import { type ApiClient } from '../api-client.ts'
import { pathOf } from '../entries/publish.ts'
import { type RemoteEntry } from './compare.ts'

/** What a service has registered, if its reply tells it whole: a credential in clear is not told. */
export async function remoteValue (api: ApiClient, { kind, id, tag }: RemoteEntry): Promise<{ readonly value: Json, readonly isWhole: boolean }> {
  const value = kind.registeredIn(await api.get(pathOf(kind, id)))
  return { value, isWhole: contentHash(value) === tag }
}
