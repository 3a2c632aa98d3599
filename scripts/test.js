// npm test: installs what is missing, then runs every test that can be had in process or with one Redis. Name files to run only those:
// npm test -- test/config.test.ts
// npm test -- --near     the tests that what was changed since `main` reaches
// npm test -- --watch    the tests that a save reaches, after each save
// npm run test:system    the rest: browsers, clusters, crashes, images, packages, and what asserts a time
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { installPackages, run } from './install.js'
import { lanesOf, runLanes } from './testing/lanes.js'
import { changedFiles, nearTests } from './testing/near.js'
import { copySources, removeOrphans } from './testing/outputs.js'
import { installRedis } from './testing/redis.js'
import { announce, keepTime } from './testing/took.js'
import { watchSaves } from './testing/watch.js'

process.chdir(fileURLToPath(new URL('..', import.meta.url)))
const chosen = process.argv.slice(2)
const isSystem = chosen[0] === '--system'
if (chosen.length === 0) announce('test', 'units, routes, stores, engines and programs, in process or with one Redis', 5)
if (isSystem) announce('test:system', 'browsers, clusters, crashes, outages, images, packages, documented commands, properties in full, and what asserts a time', 15)
installPackages()
const all = readdirSync('test', { recursive: true, encoding: 'utf8' }).map(file => file.replaceAll('\\', '/')).filter(file => file.endsWith('.test.ts')).sort()
installRedis()
// What `npm test` checks of all values, it checks of a tenth; `test:system` has all of them.
process.env.PROPERTY_FACTOR ??= isSystem ? '1' : '0.1'

if (chosen.length === 0 || isSystem) await keepTime(isSystem ? 'test:system' : 'test', () => runAll(all, isSystem ? 'system' : 'test'))
else if (chosen[0] === '--near') await runNear(changedFiles())
else if (chosen[0] === '--watch') watchSaves(saved => runChosen(nearTests(all, saved).map(file => `test/${file}`)))
else process.exitCode = runChosen(chosen)

/** A compiled service loads in half of the time, and most files of tests start one. */
async function runAll (files, name) {
  removeOrphans()
  for (const script of ['compile', 'build']) run('npm', ['run', '--silent', script])
  copySources()
  run(process.execPath, ['scripts/testing/bundle.js'])
  const groups = await import(pathToFileURL('.build/test/groups.js').href)
  process.exitCode = runLanes(name, lanesOf(files.filter(file => isRunBy(name, file, groups)), groups)) ? 0 : 1
}

/** What checks a property is run by both, since `npm test` makes a tenth of its runs. */
function isRunBy (name, file, { SYSTEM }) {
  const isOfSystem = SYSTEM.some(each => each === file || (each.endsWith('/') && file.startsWith(each)))
  if (name === 'test') return !isOfSystem
  return name === 'near' || isOfSystem || readFileSync(`test/${file}`, 'utf8').includes('helpers/property.ts')
}

async function runNear (changed) {
  const near = nearTests(all, changed)
  console.log(`${changed.length} changed files, which ${near.length} of ${all.length} files of tests reach`)
  if (near.length > 0) await runAll(near, 'near')
}

/** @returns {number | null} the status of the run */
function runChosen (files) {
  if (files.length === 0) return 0
  // Two files at a time also where there are only two cores: many tests wait for sockets and processes.
  const { status } = spawnSync(process.execPath, ['--import', 'tsx', '--test', '--test-reporter=spec', `--test-concurrency=${Math.max(2, availableParallelism() - 1)}`, ...files], { stdio: 'inherit' })
  return status
}
