// npm test: installs what is missing, then lint, types, and every test under test/. Name files to run only those:
// npm test -- test/config.test.ts
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { installPackages, run } from './install.js'

process.chdir(fileURLToPath(new URL('..', import.meta.url)))
installPackages()
installRedis()

const chosen = process.argv.slice(2)
if (chosen.length === 0) {
  run('npm', ['run', '--silent', 'lint'])
  run('npm', ['run', '--silent', 'typecheck'])
  run('npm', ['run', '--silent', 'build'])
}
const files = chosen.length > 0 ? chosen : readdirSync('test', { recursive: true, encoding: 'utf8' }).filter(file => file.endsWith('.test.ts')).map(file => `test/${file}`).sort()
// Two files at a time also where there are only two cores: many tests wait for sockets and processes.
const concurrency = Math.max(2, availableParallelism() - 1)
run(process.execPath, ['--import', 'tsx', '--test', '--test-reporter=spec', `--test-concurrency=${concurrency}`, ...files])

/** The tests run against a real Redis: the installed one, Debian's package where we may install it, or a container. */
function installRedis () {
  if (succeeds('redis-server', ['--version'])) return
  if (process.getuid?.() === 0 && existsSync('/usr/bin/apt-get')) {
    console.log('Installing redis-server ...')
    const quiet = { stdio: ['ignore', 'ignore', 'inherit'], env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' } }
    run('apt-get', ['update', '-qq'], quiet)
    run('apt-get', ['install', '-y', '-qq', '--no-install-recommends', 'redis-server'], quiet)
    return
  }
  if (succeeds('docker', ['info'])) return
  console.error('No Redis can be had: install redis-server (Debian: sudo apt-get install redis-server) or start Docker. The tests that need it will fail.')
}

function succeeds (command, args) {
  return spawnSync(command, args, { stdio: 'ignore' }).status === 0
}
