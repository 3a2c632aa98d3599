import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** Collects all garbage, now. */
export function collectGarbage (): void {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  collect()
}

/** Bytes in use after a garbage collection. */
export function heapInUse (): number {
  collectGarbage()
  collectGarbage()
  return process.memoryUsage().heapUsed
}
