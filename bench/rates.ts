// npm run bench:rates: renders at a rate, as users send them, who do not wait for each other; the service fresh and warm, beside a
// server in Go where `go` is installed. A time is from when a request was to be sent, so that a late one counts in full;
// and what 100 new connections at once get, and do to those that are there.
// --json FILE writes the rows as JSON; --warm-up MS is WARM_UP_MS, 300 unless told.
import { spawnSync } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { cpus } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { flood } from './open-loop.ts'
import { openAtOnce } from './newcomers.ts'
import { type ServerProcess } from './processes.ts'
import { sendAtRate } from './planned-rate.ts'
import { report, type Row } from './report.ts'
import { percentile } from './rounds.ts'
import { BODY, PROMPTS } from './service/payload.ts'
import { onServiceStage } from './service/service-stage.ts'

const PATH = '/api/render/prompts/go.prompt0'
const CONNECTIONS = 64
const SECONDS = 3
const NEWCOMERS = 100

const { values: { json, 'warm-up': warmUp } } = parseArgs({ options: { json: { type: 'string' }, 'warm-up': { type: 'string', default: '300' } } })
const rows: Row[] = []

await onServiceStage(async ({ folder, store, start, startService }) => {
  const contestants: Record<string, () => Promise<ServerProcess>> = { service: () => startService(store, { WARM_UP_MS: warmUp }) }
  const program = join(folder, 'go-server')
  if (spawnSync('go', ['build', '-o', program, '.'], { cwd: 'bench/go-server', stdio: ['ignore', 'ignore', 'inherit'] }).status === 0) {
    const templates = join(folder, 'go.json')
    const facts = Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`fact${index}`, `what fact ${index} says`]))
    await writeFile(templates, JSON.stringify({ messages: PROMPTS.go, bench: facts }))
    contestants['go'] = () => start(program, { TEMPLATES: templates })
  } else console.log('No Go toolchain: the rows of a Go server are left out.')

  const first = await startService(store)
  await flood({ origin: first.origin, path: PATH, body: BODY, rate: 100_000, connections: CONNECTIONS, duration: 3000 })
  const { goodPerSecond: capacity } = await flood({ origin: first.origin, path: PATH, body: BODY, rate: 100_000, connections: CONNECTIONS, duration: 3000 })
  first.stop()
  console.log(`capacity: ${capacity.toFixed(0)} /s`)
  for (const [label, rate] of Object.entries({ 1000: 1000, 3000: 3000, half: Math.round(capacity / 2) })) {
    for (const [name, open] of Object.entries(contestants)) {
      const server = await open()
      for (const state of ['fresh', 'warm']) {
        const { p50, p99, longest, unanswered, seconds } = await sendAtRate({ origin: server.origin, path: PATH, body: BODY, rate, connections: CONNECTIONS, seconds: SECONDS })
        rows.push({ name: `rates/${label}/${state}/${name}`, figure: p99, unit: 'ms', details: `${rate} /s: p50 ${p50.toFixed(2)} ms, longest ${longest.toFixed(0)} ms, ${unanswered} unanswered; p99 of each second ${seconds.map(each => each.toFixed(1)).join(', ')}` })
      }
      server.stop()
    }
  }
  for (const rate of [3000, 5000]) {
    for (const [name, open] of Object.entries(contestants)) {
      const server = await open()
      const load = { origin: server.origin, path: PATH, body: BODY, rate, connections: CONNECTIONS, seconds: SECONDS }
      await sendAtRate(load)
      const [others, newcomers] = await Promise.all([sendAtRate(load), sleep(SECONDS * 500).then(() => openAtOnce({ origin: server.origin, path: PATH, body: BODY, connections: NEWCOMERS }))])
      rows.push({ name: `burst/${rate}/others/${name}`, figure: others.p99, unit: 'ms', details: `${rate} /s beside ${NEWCOMERS} new connections: p50 ${others.p50.toFixed(2)} ms, longest ${others.longest.toFixed(0)} ms` })
      rows.push({ name: `burst/${rate}/new/${name}`, figure: percentile(newcomers, 99), unit: 'ms', details: `from opening to the answer: p50 ${percentile(newcomers, 50).toFixed(1)} ms, longest ${Math.max(...newcomers).toFixed(0)} ms` })
      server.stop()
    }
  }
})
report(`Renders at a rate, p99: Node ${process.version}, ${cpus().length} cores`, rows, json)
