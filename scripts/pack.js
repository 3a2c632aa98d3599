// npm run pack [-- FOLDER]: makes the package that is published out of what is built, in a folder of its own, and prints npm's
// description of it as JSON. The package holds npm-shrinkwrap.json, so that whoever installs it gets the tree that was tested:
// https://docs.npmjs.com/cli/configuring-npm/npm-shrinkwrap-json
import { execFileSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const destination = resolve(process.argv[2] ?? '.')
process.chdir(fileURLToPath(new URL('..', import.meta.url)))
// npm would take a shrinkwrap in this checkout in place of the lock file.
const stage = mkdtempSync(join(tmpdir(), 'ai-prompt-shell-pack-'))
try {
  for (const path of ['package.json', 'README.md', 'LICENSE', 'dist', 'jsonschema', 'prompts.json', 'examples', 'docs', 'CONTRIBUTING.md', 'SECURITY.md']) cpSync(path, join(stage, path), { recursive: true })
  writeFileSync(join(stage, 'npm-shrinkwrap.json'), `${JSON.stringify(shippedTree(), null, 2)}\n`)
  const args = ['pack', '--json', '--ignore-scripts', '--pack-destination', destination]
  console.log(execFileSync('npm', args, { cwd: stage, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'], shell: process.platform === 'win32' }))
} finally {
  rmSync(stage, { recursive: true, force: true })
}

/**
 * The lock file without development packages and optional ones. No install script is named: those of our dependencies build
 * native parts, which the service does without.
 */
function shippedTree () {
  const lock = JSON.parse(readFileSync('package-lock.json', 'utf8'))
  const { devDependencies, ...root } = lock.packages['']
  const shipped = Object.entries(lock.packages).filter(([path, { dev, optional }]) => path !== '' && dev !== true && optional !== true)
  return { ...lock, packages: { '': root, ...Object.fromEntries(shipped.map(([path, { hasInstallScript, ...entry }]) => [path, entry])) } }
}
