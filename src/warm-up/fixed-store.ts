import { type Store } from '../store/store.ts'

/** Makes a store in memory whose texts never change. @param texts the stored texts by their keys */
export function fixedStore (texts: ReadonlyMap<string, string>): Store {
  return {
    variant: 'memory',
    async * scan (prefix) { yield [...texts.keys()].filter(key => key.startsWith(prefix)) },
    read: async keys => keys.map(key => {
      const text = texts.get(key)
      return text === undefined ? { kind: 'missing' } : { kind: 'text', text }
    }),
    has: async keys => keys.map(key => texts.has(key)),
    write: async () => 'read-only',
    remove: async () => 'read-only',
    watch: async () => async () => {},
    status: () => ({ connected: true, changes: 'pushed' }),
    close: async () => {}
  }
}
