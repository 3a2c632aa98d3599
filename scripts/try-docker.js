// npm run try:docker: builds the image, starts docker-compose.yml under a name and a port of its own, renders, stops Redis,
// renders again, and removes it all. Where no image can be pulled, test/deploy/base-images.sh makes the base images first.
// BUILD_NETWORK=host builds on the network of this machine, where containers cannot reach a registry over their own.
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

const BUILD_TIMEOUT = 20 * 60_000
const COMMAND_TIMEOUT = 120_000
const WAIT_TIMEOUT = 60_000
const REQUEST_TIMEOUT = 5_000

process.chdir(fileURLToPath(new URL('..', import.meta.url)))

const compose = [['docker', 'compose'], ['docker-compose']].find(([command, ...first]) => succeeds(command, [...first, 'version']))
const reason = !succeeds('docker', ['info']) ? 'no Docker daemon answers here' : compose === undefined ? 'neither "docker compose" nor "docker-compose" is installed' : undefined
if (reason === undefined) await tryAll()
else console.log(`skipped: ${reason}`)

async function tryAll () {
  const folder = mkdtempSync(join(tmpdir(), 'try-docker-'))
  const port = await freePort()
  const composeWith = createCompose(folder, port)
  const url = `http://127.0.0.1:${port}`
  try {
    step('build', () => composeWith(['build'], BUILD_TIMEOUT))
    step('up', () => composeWith(['up', '-d']))
    await rendered(url)
    step('stop redis', () => composeWith(['stop', 'redis']))
    await status(url, 'stale')
    await rendered(url)
    step('start redis', () => composeWith(['start', 'redis']))
    await status(url, 'ready')
    await rendered(url)
  } catch (error) {
    fail(error)
    attempt(() => composeWith(['logs', '--tail', '50']))
  }
  attempt(() => composeWith(['down', '--volumes', '--rmi', 'local', '--timeout', '20']))
  rmSync(folder, { recursive: true })
}

/** Compose over this repository's file, for a project of its own. */
function createCompose (folder, port) {
  const network = process.env.BUILD_NETWORK
  const override = join(folder, 'override.json')
  const build = network === undefined ? {} : { build: { network } }
  writeFileSync(override, JSON.stringify({ services: { 'ai-prompt-shell': build, 'register-examples': build } }))
  const [command, ...first] = compose
  const files = ['-f', 'docker-compose.yml', ...(network === undefined ? [] : ['-f', override])]
  return (args, timeout = COMMAND_TIMEOUT) => {
    const { status, error } = spawnSync(command, [...first, '-p', `try-docker-${process.pid}`, ...files, ...args], {
      env: { ...process.env, PORT: String(port) }, stdio: ['ignore', args[0] === 'logs' ? 'inherit' : 'ignore', 'inherit'], timeout
    })
    if (status !== 0) throw new Error(`compose ${args.join(' ')}: ${error?.message ?? `ended with ${status}`}`)
  }
}

/** What is left to do is done also when this fails. */
function attempt (action) {
  try {
    action()
  } catch (error) {
    fail(error)
  }
}

function fail (error) {
  console.error(error.message)
  process.exitCode = 1
}

function step (title, action) {
  const started = performance.now()
  action()
  console.log(`ok  ${title} (${((performance.now() - started) / 1000).toFixed(1)} s)`)
}

/** Waits until the prompt "greet" is rendered: the examples are registered while the service runs already. */
async function rendered (url) {
  const text = await until('a render of greet', async () => {
    const reply = await fetch(`${url}/api/render/prompts/greet`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"variables":{"name":"Ada"}}' })
    return reply.ok ? (await reply.json()).rendered_prompt : undefined
  })
  if (text !== 'Say hello to Ada in one sentence.') throw new Error(`greet: expected a greeting of Ada, got "${text}"`)
  console.log(`ok  render: ${text}`)
}

async function status (url, wanted) {
  await until(`/readyz to say ${wanted}`, async () => (await (await fetch(`${url}/readyz`)).json()).status === wanted)
  console.log(`ok  /readyz: ${wanted}`)
}

async function until (what, look) {
  const deadline = Date.now() + WAIT_TIMEOUT
  for (;;) {
    // A fetch from a port that nobody serves yet may never settle, and keeps no process alive.
    const found = await Promise.race([look().catch(() => undefined), delay(REQUEST_TIMEOUT)])
    if (found) return found
    if (Date.now() > deadline) throw new Error(`waited ${WAIT_TIMEOUT / 1000} s in vain for ${what}`)
    await delay(100)
  }
}

async function freePort () {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address()
  server.close()
  return port
}

function succeeds (command, args) {
  return spawnSync(command, args, { stdio: 'ignore', timeout: COMMAND_TIMEOUT }).status === 0
}
