// npm test: installs what is missing, then lint, types, and every test under test/. Name files to run only those, or have those
// run that reach what was changed:
// npm test -- test/config.test.ts
// npm test -- --near
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { installPackages, run } from './install.js'
import { lanesOf, runLanes } from './testing/lanes.js'
import { changedFiles, nearTests } from './testing/near.js'
import { copySources, removeOrphans } from './testing/outputs.js'

process.chdir(fileURLToPath(new URL('..', import.meta.url)))
installPackages()
installRedis()
// The full number of runs of every property is for continuous integration: `.ci/run`.
process.env.PROPERTY_FACTOR ??= '0.1'

const all = readdirSync('test', { recursive: true, encoding: 'utf8' }).map(file => file.replaceAll('\\', '/')).filter(file => file.endsWith('.test.ts')).sort()
const chosen = process.argv.slice(2)
if (chosen.length === 0) await runAll(all)
else if (chosen[0] === '--near') await runNear()
else runChosen(chosen)

/** A compiled service loads in half of the time, and most files of tests start one. */
async function runAll (files) {
  removeOrphans()
  // The lint takes as long as all else before the tests, on one core: it goes on beside them.
  const linted = runLint()
  for (const script of ['compile', 'build']) run('npm', ['run', '--silent', script])
  copySources()
  run(process.execPath, ['scripts/testing/bundle.js'])
  const groups = await import(pathToFileURL('.build/test/groups.js').href)
  process.exitCode = await runLanes(lanesOf(files, groups), linted) ? 0 : 1
}

async function runNear () {
  const changed = changedFiles()
  const near = nearTests(all, changed)
  console.log(`${changed.length} changed files, which ${near.length} of ${all.length} files of tests reach`)
  if (near.length > 0) await runAll(near)
}

function runChosen (files) {
  // Two files at a time also where there are only two cores: many tests wait for sockets and processes.
  run(process.execPath, ['--import', 'tsx', '--test', '--test-reporter=spec', `--test-concurrency=${Math.max(2, availableParallelism() - 1)}`, ...files])
}

/** @returns {Promise<boolean>} whether it found nothing */
async function runLint () {
  const [code] = await once(spawn('npm', ['run', '--silent', 'lint'], { stdio: 'inherit', shell: process.platform === 'win32' }), 'exit')
  return code === 0
}

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
