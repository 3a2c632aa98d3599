// What `npm start` and `npm test` need first. Only Node's own modules: nothing may be installed yet.
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { createHash } from 'node:crypto'

const STAMP = 'node_modules/.ai-prompt-shell-lock'

/** Runs a command, showing what it prints; ends this process when it fails. */
export function run (command, args, options = {}) {
  const { status, error } = spawnSync(command, args, { stdio: 'inherit', shell: process.platform === 'win32', ...options })
  if (error) console.error(`${command}: ${error.message}`)
  if (status !== 0) process.exit(status ?? 1)
}

/** Installs the packages of the lock file when they are missing or the lock file has changed. */
export function installPackages () {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  if (major < 20 || (major === 20 && minor < 19)) {
    console.error(`Node 20.19 or newer is needed, this is ${process.versions.node}`)
    process.exit(1)
  }
  const lock = createHash('sha256').update(readFileSync('package-lock.json')).digest('hex')
  if (existsSync(STAMP) && readFileSync(STAMP, 'utf8') === lock) return
  console.log('Installing packages ...')
  run('npm', ['ci', '--no-fund', '--no-audit', '--loglevel=error'])
  writeFileSync(STAMP, lock)
}
