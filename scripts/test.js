// npm test: installs what is missing, then lint, types, and every test under test/. Name files to run only those:
// npm test -- test/config.test.ts
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, readdirSync, rmSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { installPackages, run } from './install.js'

process.chdir(fileURLToPath(new URL('..', import.meta.url)))
installPackages()
installRedis()

const chosen = process.argv.slice(2)
// Two files at a time also where there are only two cores: many tests wait for sockets and processes.
const concurrency = Math.max(2, availableParallelism() - 1)
const runner = ['--test', '--test-reporter=spec', `--test-concurrency=${concurrency}`]
if (chosen.length > 0) run(process.execPath, ['--import', 'tsx', ...runner, ...chosen])
else {
  await runTogether([['run', '--silent', 'lint'], ['run', '--silent', 'compile']])
  run('npm', ['run', '--silent', 'build'])
  run(process.execPath, ['--enable-source-maps', ...runner, ...compiledTests()])
}

/** Every file of tests is a process, which loads a compiled service in half of the time. @returns all of them */
function compiledTests () {
  // What tests read beside themselves, and what they start as a process of its own, is where they look for it.
  for (const path of ['src', 'test', 'jsonschema', 'prompts.json']) cpSync(path, `.build/${path}`, { recursive: true })
  return readdirSync('test', { recursive: true, encoding: 'utf8' }).filter(file => file.endsWith('.test.ts')).map(file => `.build/test/${file.replace(/ts$/, 'js')}`).sort()
}

/** Runs scripts of npm side by side; ends this process when one fails. */
async function runTogether (scripts) {
  rmSync('.build', { recursive: true, force: true })
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
