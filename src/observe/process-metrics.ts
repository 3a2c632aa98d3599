import { collectDefaultMetrics, Registry } from 'prom-client'

let registry: Registry | undefined

/**
 * The metrics of the process: CPU, memory, delay of the event loop, garbage collection. They are made once for the process, however many
 * apps a test makes, because the collectors of prom-client cannot be ended. They keep prom-client's names, by which dashboards for Node
 * find them.
 */
export function processMetrics (): Registry {
  if (registry === undefined) {
    registry = new Registry()
    collectDefaultMetrics({ register: registry })
  }
  return registry
}
