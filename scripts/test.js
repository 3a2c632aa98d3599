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
  await runTogether([['run', '--silent', 'lint'], ['run', '--silent', 'compile']])
  run('npm', ['run', '--silent', 'build'])
  copySources()
  const groups = await import(pathToFileURL('.build/test/groups.js').href)
  process.exitCode = runLanes(lanesOf(files, groups)) ? 0 : 1
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

/** Runs scripts of npm side by side; ends this process when one fails. */
async function runTogether (scripts) {
  const codes = await Promise.all(scripts.map(async script => {
    const [code] = await once(spawn('npm', script, { stdio: 'inherit', shell: process.platform === 'win32' }), 'exit')
    return code
  }))
  const failed = codes.find(code => code !== 0)
  if (failed !== undefined) process.exit(failed ?? 1)
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
