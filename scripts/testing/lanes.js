// Runs compiled tests lane by lane, and counts over all of them.
import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { COUNTED } from './count-reporter.js'

/** Processes that share the grouped files. */
const GROUPS = 12

/** Files that are run at a time while most of them wait: for Redis, SSH, workers, processes. */
const WAITING_AT_A_TIME = 3

/**
 * Sorts files of tests into lanes.
 * @param {readonly string[]} files paths below test/: `config.test.ts`
 * @param {{ GROUPED: readonly string[], ALONE: readonly string[] }} groups
 * @returns lanes with the files that node is to run, in their order
 */
export function lanesOf (files, { GROUPED, ALONE }) {
  const has = list => file => list.includes(file)
  const grouped = files.filter(has(GROUPED))
  const alone = files.filter(has(ALONE))
  const others = files.filter(file => !GROUPED.includes(file) && !ALONE.includes(file))
  return [
    { name: 'grouped', files: writeGroups(grouped), atATime: Math.max(2, availableParallelism() - 1) },
    { name: 'waiting', files: others.map(compiled), atATime: WAITING_AT_A_TIME },
    { name: 'alone', files: alone.map(compiled), atATime: 1 }
  ].filter(lane => lane.files.length > 0)
}

/** Runs all lanes, also after one that fails. @returns whether none failed */
export function runLanes (lanes) {
  const started = performance.now()
  const outcomes = lanes.map(runLane)
  const failed = outcomes.flatMap(outcome => outcome.failed)
  const lost = lanes.filter((_, index) => outcomes[index].status !== 0).map(({ name }) => name)
  if (failed.length > 0) console.log(`\n✖ failing tests of all lanes:\n${failed.map(({ name, file }) => `✖ ${name} (${file})`).join('\n')}`)
  if (lost.length > 0) console.log(`\nlanes that failed: ${lost.join(', ')}`)
  console.log('\nall lanes')
  for (const name of COUNTED) console.log(`ℹ ${name} ${outcomes.reduce((sum, { counts }) => sum + (counts[name] ?? 0), 0)}`)
  console.log(`ℹ duration_ms ${Math.round(performance.now() - started)}`)
  return lost.length === 0
}

function runLane ({ name, files, atATime }) {
  console.log(`\nlane ${name}: ${files.length} processes, ${atATime} at a time`)
  const path = `.build/counts-${name}.json`
  mkdirSync('.build', { recursive: true })
  rmSync(path, { force: true })
  const reporters = ['--test-reporter=spec', '--test-reporter-destination=stdout', `--test-reporter=${new URL('count-reporter.js', import.meta.url).href}`, `--test-reporter-destination=${path}`]
  const { status } = spawnSync(process.execPath, ['--enable-source-maps', '--test', `--test-concurrency=${atATime}`, ...reporters, ...files], { stdio: 'inherit' })
  // A runner that was killed has written nothing, and has failed.
  try {
    return { status, ...JSON.parse(readFileSync(path, 'utf8')) }
  } catch {
    return { status: status === 0 ? 1 : status, counts: {}, failed: [] }
  }
}

/** Node's own way to share a process, `--test-isolation=none`, is newer than the oldest Node that must do. @returns a file for each group */
function writeGroups (files) {
  rmSync('.build/groups', { recursive: true, force: true })
  mkdirSync('.build/groups', { recursive: true })
  const groups = Array.from({ length: Math.min(GROUPS, files.length) }, (_, group) => files.filter((_file, index) => index % GROUPS === group))
  return groups.map((group, index) => {
    const path = `.build/groups/group-${String(index + 1).padStart(2, '0')}.test.js`
    writeFileSync(path, ['helpers/group-guard.js', ...group.map(toJs)].map(file => `import '../test/${file}'\n`).join(''))
    return path
  })
}

function compiled (file) {
  return `.build/test/${toJs(file)}`
}

function toJs (file) {
  return file.replace(/ts$/, 'js')
}
