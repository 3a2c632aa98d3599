import { type Store } from '../../src/store/store.ts'

/** All keys that begin with `prefix`, each once. @throws StoreError */
export async function listAll (store: Pick<Store, 'scan'>, prefix: string): Promise<readonly string[]> {
  const keys = new Set<string>()
  for await (const batch of store.scan(prefix)) for (const key of batch) keys.add(key)
  return [...keys]
}
