import { type Log } from '../../src/runtime/telemetry.ts'

/** A log that nobody reads, but for the levels that a test does. */
export function quietLog (read: Partial<Log> = {}): Log {
  return { debug () {}, info () {}, warn () {}, error () {}, ...read }
}
