// Which files of tests are near to a change: those whose imports, followed to their ends, reach a changed file.
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'

/** Files that were changed since the branch left `main`, committed or not; of `main` itself, what is not committed. */
export function changedFiles () {
  const base = git(['merge-base', 'HEAD', 'main'])[0] ?? 'HEAD'
  return [...new Set([...git(['diff', '--name-only', base]), ...git(['ls-files', '--others', '--exclude-standard'])])].sort()
}

/**
 * @param {readonly string[]} tests paths below test/
 * @param {readonly string[]} changed paths from the project's folder
 * @returns {string[]} those of the tests that reach one of them
 */
export function nearTests (tests, changed) {
  for (const path of changed) {
    texts.delete(path)
    imports.delete(path)
  }
  const isCode = path => /\.[jt]s$/.test(path)
  const code = new Set(changed.filter(isCode))
  // A schema or a case is read, not imported: whoever reads it names it. Of pages, comments in the code have names, too.
  const named = changed.filter(path => !isCode(path)).map(path => ({ name: basename(path), isPage: path.endsWith('.md') }))
  const isNamed = (path, { name, isPage }) => !(isPage && path.startsWith('src/')) && textOf(path).includes(name)
  const hasPages = named.some(({ isPage }) => isPage)
  return tests.filter(test => (hasPages && READERS_OF_PAGES.test(test)) || reached(join('test', test)).some(path => code.has(path) || named.some(each => isNamed(path, each))))
}

/** Tests that read whatever page there is. */
const READERS_OF_PAGES = /^docs\/|^documents\./

/** A file and all that it imports, directly or not. */
function reached (file) {
  const files = new Set([file])
  for (const each of files) for (const imported of importsOf(each)) files.add(imported)
  return [...files]
}

/** What imports nothing but types does not run it: the compile tells what is wrong. */
const ONLY_TYPES = /^type |^\{(?:\s*type [\w ]+,?)+\s*\}$/

const imports = new Map()
const texts = new Map()

/** Files that one file imports, also when it runs, or names as one beside it, such as what it starts as a process. */
function importsOf (file) {
  const known = imports.get(file)
  if (known !== undefined) return known
  const fixed = Array.from(textOf(file).matchAll(/^(?:import|export) (?:([^'";]+) from )?'(\.[^']+)'/gm)).filter(([, names = '']) => !ONLY_TYPES.test(names)).map(([, , path]) => path)
  const others = Array.from(textOf(file).matchAll(/(?:import\(|new URL\()'(\.[^']+\.[jt]s)'/g), ([, path]) => path)
  const found = [...fixed, ...others].map(path => join(dirname(file), path)).filter(path => existsSync(path))
  imports.set(file, found)
  return found
}

function textOf (file) {
  const text = texts.get(file) ?? (existsSync(file) ? readFileSync(file, 'utf8') : '')
  texts.set(file, text)
  return text
}

function git (args) {
  const { stdout, status } = spawnSync('git', args, { encoding: 'utf8' })
  return status === 0 ? stdout.split('\n').filter(line => line !== '') : []
}
