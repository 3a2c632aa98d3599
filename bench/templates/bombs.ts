import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { stringifyJson } from '../../src/base/json.ts'
import { type ArmedBomb } from '../../test/template/bombs/bomb.ts'
import { BOMB_REGISTRATIONS, BOMBS } from '../../test/template/bombs/surroundings.ts'
import { type Row } from '../report.ts'
import { percentile } from '../rounds.ts'

/** How often the service is asked whether it is alive, in ms. */
const PROBE_INTERVAL = 5
const agent = new Agent({ keepAlive: true, maxSockets: 100 })

/** Every bomb through a real service process, alone and ten of it at once, while somebody asks whether it is alive. */
export async function benchBombs (): Promise<Row[]> {
  const folder = mkdtempSync(join(tmpdir(), 'bench-bombs-'))
  let service: ChildProcess | undefined
  try {
    for (const [key, value] of Object.entries(BOMB_REGISTRATIONS)) writeEntry(folder, key, value)
    service = spawn(process.execPath, ['dist/main.js'], { env: { PATH: process.env['PATH'], PORT: '0', STORE_DIR: folder }, stdio: ['ignore', 'pipe', 'inherit'] })
    const url = await listening(service)
    return [...await setOff(url, 'alone', 1), ...await setOff(url, 'ten-at-once', 10)]
  } finally {
    service?.kill('SIGKILL')
    agent.destroy()
    rmSync(folder, { recursive: true })
  }
}

function writeEntry (folder: string, key: string, value: unknown): void {
  const file = join(folder, `${key.replaceAll(':', '/')}.json`)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, JSON.stringify(value))
}

function listening (service: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    createInterface({ input: service.stdout as NonNullable<ChildProcess['stdout']> }).on('line', line => {
      const url = /Server listening at (http:\/\/[\d.]+:\d+)/.exec(line)?.[1]
      if (url !== undefined) resolve(url)
    })
    service.once('exit', code => reject(new Error(`the service ended with ${code}`)))
  })
}

/** A row for every bomb, and one for all the answers of `GET /healthz` meanwhile. */
async function setOff (url: string, how: string, count: number): Promise<Row[]> {
  const rows: Row[] = []
  const probes: number[] = []
  for (const bomb of BOMBS) {
    const body = Buffer.from(stringifyJson({ variables: bomb.variables }))
    // The first time warms the engine up, as a service's first minutes do.
    await time(url, bomb, body)
    const { result: elapsed, latencies } = await probing(url, () => Promise.all(Array.from({ length: count }, () => time(url, bomb, body))))
    probes.push(...latencies)
    rows.push({ name: `bombs/${how}/${bomb.id}`, figure: Math.max(...elapsed), unit: 'ms', details: `healthz at most ${Math.max(...latencies).toFixed(0)} ms` })
  }
  const details = `${probes.length} answers, median ${percentile(probes, 50).toFixed(1)} ms, slowest ${Math.max(...probes).toFixed(0)} ms`
  return [...rows, { name: `bombs/healthz-p99-${how}`, figure: percentile(probes, 99), unit: 'ms', details }]
}

/** Asks for `GET /healthz` every few milliseconds for as long as the work takes. */
async function probing<T> (url: string, work: () => Promise<T>): Promise<{ result: T, latencies: readonly number[] }> {
  const probes: Array<Promise<number>> = []
  const over = { is: false }
  const prober = (async () => {
    while (!over.is) {
      probes.push(send(`${url}/healthz`, undefined).then(({ milliseconds }) => milliseconds))
      await sleep(PROBE_INTERVAL)
    }
  })()
  const result = await work()
  over.is = true
  await prober
  return { result, latencies: await Promise.all(probes) }
}

async function time (url: string, { id, status }: ArmedBomb, body: Buffer): Promise<number> {
  const reply = await send(`${url}/api/render/prompts/${id}`, body)
  if (reply.status !== status) throw new Error(`${id} answered ${reply.status} instead of ${status}`)
  return reply.milliseconds
}

/** A GET, or a POST of JSON when there is a body. */
function send (url: string, body: Buffer | undefined): Promise<{ status: number, milliseconds: number }> {
  const started = performance.now()
  return new Promise((resolve, reject) => {
    const headers = body === undefined ? {} : { 'content-type': 'application/json', 'content-length': body.length }
    const call = request(url, { method: body === undefined ? 'GET' : 'POST', headers, agent }, reply => {
      reply.resume()
      reply.on('end', () => resolve({ status: reply.statusCode ?? 0, milliseconds: performance.now() - started }))
    })
    call.on('error', reject)
    call.end(body)
  })
}
