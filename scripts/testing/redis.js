// The Redis of the tests: the installed one, or Debian's package unpacked into a folder of its own, which takes no rights, or a container.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'

const FOLDER = resolve('node_modules/.cache/redis')

/** Sees to a `redis-server` that this process and its children find. */
export function installRedis () {
  if (succeeds('redis-server', ['--version'])) return
  if (!existsSync(FOLDER) && succeeds('apt-get', ['--version'])) unpack()
  useUnpacked()
  if (succeeds('redis-server', ['--version']) || succeeds('docker', ['info'])) return
  console.error('No Redis can be had: install redis-server (Debian: sudo apt-get install redis-server) or start Docker. The tests that need it will fail.')
}

/** Lists and packages go to a folder of ours, since the system's want rights. Only what the system lacks is fetched. */
function unpack () {
  console.log('Fetching redis-server ...')
  const work = `${FOLDER}.${process.pid}`
  const folders = ['lists/partial', 'cache/archives/partial', 'root'].map(name => join(work, name))
  for (const folder of folders) mkdirSync(folder, { recursive: true })
  const apt = (command, args) => spawnSync(command, ['-qq', `-oDir::State::Lists=${work}/lists`, `-oDir::Cache=${work}/cache`, '-oDebug::NoLocking=1', '-oAPT::Sandbox::User=', ...args], { cwd: work, encoding: 'utf8' })
  apt('apt-get', ['update'])
  const needed = apt('apt-cache', ['depends', '--recurse', ...['recommends', 'suggests', 'conflicts', 'breaks', 'replaces', 'enhances'].map(kind => `--no-${kind}`), 'redis-server']).stdout.match(/^[a-z].*$/gm) ?? []
  // Of a server, its programs and libraries are all that a test starts.
  const isMissing = name => /^(?:redis|lib)/.test(name) && !(spawnSync('dpkg-query', ['-s', name], { encoding: 'utf8' }).stdout ?? '').includes('ok installed')
  apt('apt-get', ['download', ...needed.filter(isMissing)])
  for (const file of readdirSync(work).filter(name => name.endsWith('.deb'))) spawnSync('dpkg', ['-x', file, 'root'], { cwd: work })
  if (existsSync(`${work}/root/usr/bin/redis-server`)) renameSync(`${work}/root`, FOLDER)
  rmSync(work, { recursive: true, force: true })
}

function useUnpacked () {
  if (!existsSync(FOLDER)) return
  const libraries = ['usr/lib', 'lib'].map(name => join(FOLDER, name)).filter(existsSync).flatMap(name => [name, ...readdirSync(name, { withFileTypes: true }).filter(entry => entry.isDirectory()).map(entry => join(name, entry.name))])
  process.env.PATH = `${join(FOLDER, 'usr/bin')}:${process.env.PATH}`
  process.env.LD_LIBRARY_PATH = [...libraries, process.env.LD_LIBRARY_PATH].filter(Boolean).join(':')
}

function succeeds (command, args) {
  return spawnSync(command, args, { stdio: 'ignore' }).status === 0
}
