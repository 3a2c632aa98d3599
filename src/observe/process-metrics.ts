import { collectDefaultMetrics, Registry } from 'prom-client'

let registry: Registry | undefined

/**
 * Metrics of the process: CPU, memory, the delay of the event loop, garbage collection. There is one process, so there is
 * one set of them, however many apps a test makes: prom-client's collectors cannot be ended. They keep their usual names,
 * by which every dashboard for Node finds them.
 */
export function processMetrics (): Registry {
  if (registry === undefined) {
    registry = new Registry()
    collectDefaultMetrics({ register: registry })
  }
  return registry
}
