// What `npm start` and `npm test` need first. Only Node's own modules: nothing may be installed yet.
import { spawnSync } from 'node:child_process'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createHash } from 'node:crypto'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** What npm has installed, as npm notes it when it is through. */
const INSTALLED = 'node_modules/.package-lock.json'

/** Runs a command, showing what it prints; ends this process when it fails. */
export function run (command, args, options = {}) {
  const { status, error } = spawnSync(command, args, { stdio: 'inherit', shell: process.platform === 'win32', ...options })
  if (error) console.error(`${command}: ${error.message}`)
  if (status !== 0) process.exit(status ?? 1)
}

/** Installs the packages of the lock file unless they are there, also by other hands: a service may be running from them. */
export function installPackages () {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  if (major < 20 || (major === 20 && minor < 19)) {
    console.error(`Node 20.19 or newer is needed, this is ${process.versions.node}`)
    process.exit(1)
  }
  if (isInstalled()) return
  const release = takeTurn()
  if (!isInstalled()) {
    console.log('Installing packages ...')
    install()
  }
  release()
}

/** What npm says where no registry can be reached. */
const NO_NETWORK = /\b(?:EAI_AGAIN|ENOTFOUND|ECONNREFUSED|ECONNRESET|ENETUNREACH|EHOSTUNREACH|ETIMEDOUT|ERR_SOCKET_TIMEOUT)\b/

/** Without a network npm would try hundreds of packages several times each: it is asked once first, and then takes what it has kept. */
function install () {
  const [unreachable] = NO_NETWORK.exec(npm(['ping', '--fetch-retries=0', '--fetch-timeout=10000', '--loglevel=error']).stderr) ?? []
  // Also where NODE_ENV=production or an npm that omits what is optional would leave out what builds the service.
  const args = ['ci', '--include=dev', '--include=optional', '--no-fund', '--no-audit', '--loglevel=error']
  const { status, error, stderr } = npm(unreachable === undefined ? args : [...args, '--offline'], 'inherit')
  if (status === 0) return
  console.error(unreachable === undefined ? error?.message ?? stderr : `The packages cannot be installed: the registry of npm cannot be reached (${unreachable}), which is needed once`)
  process.exit(status ?? 1)
}

function npm (args, stdout = 'ignore') {
  const ended = spawnSync('npm', args, { stdio: ['inherit', stdout, 'pipe'], encoding: 'utf8', shell: process.platform === 'win32' })
  return { ...ended, stderr: ended.stderr ?? '' }
}

/** What esbuild is on this machine: npm calls it optional, since each platform has a package of its own, but nothing is built without it. */
const BUILDER = `node_modules/@esbuild/${process.platform}-${process.arch}`

/** Whether every package of the lock file is there, but for optional ones that no build needs. */
function isInstalled () {
  const { packages: wanted = {} } = JSON.parse(readFileSync('package-lock.json', 'utf8'))
  const { packages: installed = {} } = readInstalled()
  return Object.entries(wanted).every(([path, { version, optional }]) => path === '' || (optional === true && path !== BUILDER) || installed[path]?.version === version)
}

/** An installation that was broken off may leave no note, or half of one. */
function readInstalled () {
  try {
    return JSON.parse(readFileSync(INSTALLED, 'utf8'))
  } catch {
    return {}
  }
}

/**
 * Waits until nobody else installs here: `npm start` and `npm run example:tools` may be started together in a fresh
 * checkout, and two installations at once would remove each other's files. The turn of a process that has died is over.
 */
function takeTurn () {
  const turn = join(tmpdir(), `ai-prompt-shell-install-${hashOf(process.cwd()).slice(0, 16)}`)
  for (;;) {
    try {
      writeFileSync(turn, String(process.pid), { flag: 'wx' })
      const release = () => rmSync(turn, { force: true })
      process.once('exit', release)
      return release
    } catch (error) {
      if (error.code !== 'EEXIST') throw error
    }
    if (!isTaken(turn)) rmSync(turn, { force: true })
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200)
  }
}

function isTaken (turn) {
  try {
    process.kill(Number(readFileSync(turn, 'utf8')), 0)
    return true
  } catch (error) {
    return error.code === 'EPERM'
  }
}

function hashOf (content) {
  return createHash('sha256').update(content).digest('hex')
}
