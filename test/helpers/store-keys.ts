import { KINDS, ON_DEMAND } from '../../src/registry/kind-table.ts'
import { type StoreKeys } from '../../src/store/store.ts'

/** The keys that the service reads, below another prefix if one is given. */
export function storeKeys (prefix = 'shenma:'): StoreKeys {
  return { prefix, kinds: [...KINDS, ...ON_DEMAND] }
}
