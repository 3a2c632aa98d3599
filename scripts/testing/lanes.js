// Runs compiled tests lane by lane, and counts over all of them.
import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { COUNTED } from './count-reporter.js'

/** Processes that share the files which need none of their own. With more of them, more loads of the service; with fewer, cores idle at the end. */
const GROUPS = 16

/** Most tests wait: for Redis, SSH, browsers, processes. More at a time than this, and some would wait too long for a core. */
const AT_A_TIME = availableParallelism() + 1

/** The longest time for one process, in ms: a bound against a test that waits for ever, not a measurement. */
const MOST = 30 * 60_000

/** Where each command of tests leaves what it has counted, for the one count at the end (scripts/testing/total.js). */
export const COUNTS = '.build/counts'

/**
 * Sorts files of tests into lanes.
 * @param {readonly string[]} files paths below test/: `config.test.ts`
 * @param {{ OWN: readonly string[], ALONE: readonly string[] }} groups
 * @returns lanes with the files that node is to run, in their order
 */
export function lanesOf (files, { OWN, ALONE }) {
  const own = files.filter(file => OWN.includes(file))
  const alone = files.filter(file => ALONE.includes(file))
  const grouped = files.filter(file => !OWN.includes(file) && !ALONE.includes(file))
  const groups = Array.from({ length: Math.min(GROUPS, grouped.length) }, (_, group) => grouped.filter((_file, index) => index % GROUPS === group))
  // Those of their own are first, since some of them are long: what comes last should be short.
  const processes = [...own.map(file => [file]), ...groups.map(group => ['helpers/group-guard.ts', ...group])]
  return [
    { name: 'side by side', files: writeEntries(processes), atATime: AT_A_TIME },
    { name: 'alone', files: alone.map(file => `.build/test/${toJs(file)}`), atATime: 1 }
  ].filter(lane => lane.files.length > 0)
}

/**
 * Runs all lanes, also after one that fails.
 * @param {string} command whose tests they are
 * @returns {boolean} whether none failed
 */
export function runLanes (command, lanes) {
  const started = performance.now()
  const outcomes = lanes.map(runLane)
  const failed = outcomes.flatMap(outcome => outcome.failed)
  const lost = lanes.filter((_, index) => outcomes[index].status !== 0).map(({ name }) => name)
  const counts = { ...Object.fromEntries(COUNTED.map(name => [name, sum(outcomes.map(outcome => outcome.counts[name] ?? 0))])), duration_ms: Math.round(performance.now() - started) }
  mkdirSync(COUNTS, { recursive: true })
  writeFileSync(`${COUNTS}/${command}.json`, JSON.stringify({ counts, failed, lost }))
  printCounts(`all tests of ${command}`, { counts, failed, lost })
  return lost.length === 0
}

/** What was counted, in the words of node's runner, and what failed, above it. */
export function printCounts (title, { counts, failed, lost }) {
  if (failed.length > 0) console.log(`\n✖ failing tests:\n${failed.map(({ name, file, error }) => `✖ ${name} (${file})\n${error.replace(/^/gm, '    ')}`).join('\n')}`)
  if (lost.length > 0) console.log(`\nfailed: ${lost.join(', ')}`)
  console.log(`\n${title}`)
  for (const [name, count] of Object.entries(counts)) console.log(`ℹ ${name} ${count}`)
}

export function sum (numbers) {
  return numbers.reduce((total, number) => total + number, 0)
}

function runLane ({ name, files, atATime }) {
  console.log(`\nlane ${name}: ${files.length} processes, ${atATime} at a time`)
  const path = `.build/counts-${name.replaceAll(' ', '-')}.json`
  mkdirSync('.build', { recursive: true })
  rmSync(path, { force: true })
  const reporters = ['--test-reporter=spec', '--test-reporter-destination=stdout', `--test-reporter=${new URL('count-reporter.js', import.meta.url).href}`, `--test-reporter-destination=${path}`]
  const { status } = spawnSync(process.execPath, ['--enable-source-maps', '--test', `--test-concurrency=${atATime}`, `--test-timeout=${MOST}`, ...reporters, ...files], { stdio: 'inherit' })
  // A runner that was killed has written nothing, and has failed.
  try {
    return { status, ...JSON.parse(readFileSync(path, 'utf8')) }
  } catch {
    return { status: status === 0 ? 1 : status, counts: {}, failed: [] }
  }
}

/**
 * Node's own way to share a process, `--test-isolation=none`, is newer than the oldest Node that must do. And its runner sorts files by name.
 * @param {ReadonlyArray<readonly string[]>} processes the files of each
 * @returns a file for each process, named in their order
 */
function writeEntries (processes) {
  rmSync('.build/groups', { recursive: true, force: true })
  mkdirSync('.build/groups', { recursive: true })
  return processes.map((files, index) => {
    const path = `.build/groups/${String(index + 1).padStart(3, '0')}.test.js`
    writeFileSync(path, ['helpers/watchdog.ts', ...files].map(file => `import '../test/${toJs(file)}'\n`).join(''))
    return path
  })
}

function toJs (file) {
  return file.replace(/ts$/, 'js')
}
