import assert from 'node:assert/strict'
import { LOG_FIELDS } from '../../src/http/request-log.ts'

const known = new Set(LOG_FIELDS.flatMap(([, fields]) => Object.keys(fields)))

/** Fails when lines have fields that docs/observability.md does not list. */
export function assertDocumented (lines: readonly object[]): void {
  assert.deepEqual([...new Set(lines.flatMap(line => Object.keys(line)))].filter(name => !known.has(name)), [])
}
