/*
 * What this browser keeps for the console: `local` for all tabs, `session` for this one. A browser may forbid both, or have no room: then the
 * page goes on without, and who keeps what must not be lost says so.
 */

/** Where a browser forbids its storage: lasts as long as the page. */
class PageStorage {
  readonly #texts = new Map<string, string>()

  get length (): number { return this.#texts.size }
  key (index: number): string | null { return [...this.#texts.keys()][index] ?? null }
  getItem (key: string): string | null { return this.#texts.get(key) ?? null }
  setItem (key: string, text: string): void { this.#texts.set(key, text) }
  removeItem (key: string): void { this.#texts.delete(key) }
}

type Kept = Pick<Storage, 'length' | 'key' | 'getItem' | 'setItem' | 'removeItem'>

function open (name: 'localStorage' | 'sessionStorage'): Kept {
  try {
    return globalThis[name]
  } catch {
    return new PageStorage()
  }
}

export const local = open('localStorage')
export const session = open('sessionStorage')

/** @returns whether it is there also after the page is closed; where there is no room, what was there before is gone */
export function keep (place: Kept, key: string, text: string): boolean {
  try {
    place.setItem(key, text)
    return !(place instanceof PageStorage)
  } catch {
    place.removeItem(key)
    return false
  }
}

export function keysIn (place: Kept, prefix: string): readonly string[] {
  return Array.from({ length: place.length }, (_, index) => place.key(index) ?? '').filter(key => key.startsWith(prefix))
}
