// The one count over `npm test` and `npm run test:system`, as node's runner would print it.
import { readFileSync } from 'node:fs'
import { COUNTED } from './count-reporter.js'
import { COUNTS, printCounts, sum } from './lanes.js'

const parts = ['test', 'system'].map(name => JSON.parse(readFileSync(`${COUNTS}/${name}.json`, 'utf8')))
const counts = Object.fromEntries([...COUNTED, 'duration_ms'].map(name => [name, sum(parts.map(part => part.counts[name]))]))
printCounts('all tests', { counts, failed: parts.flatMap(part => part.failed), lost: parts.flatMap(part => part.lost) })
