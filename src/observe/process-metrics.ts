import { collectDefaultMetrics, Registry } from 'prom-client'

let registry: Registry | undefined

/**
 * The metrics of the process: CPU, memory, delay of the event loop, garbage collection. There is one set of them for the process, however many apps a
 * test makes, because the collectors of prom-client cannot be ended. They keep their usual names, by which dashboards for Node find them.
 */
export function processMetrics (): Registry {
  if (registry === undefined) {
    registry = new Registry()
    collectDefaultMetrics({ register: registry })
  }
  return registry
}
