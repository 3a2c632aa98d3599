import assert from 'node:assert/strict'
import { execFile, spawnSync } from 'node:child_process'
import { chmod, cp } from 'node:fs/promises'
import { delimiter, dirname, join, resolve } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { createTemporaryFolder } from '../helpers/temporary-folder.ts'

const LOCK = {
  packages: {
    '': { name: 'project', version: '1.0.0' },
    'node_modules/fastify': { version: '5.0.0' },
    'node_modules/esbuild': { version: '0.28.0', dev: true },
    [`node_modules/@esbuild/${process.platform}-${process.arch}`]: { version: '0.28.0', dev: true, optional: true },
    'node_modules/@esbuild/other-platform': { version: '0.28.0', optional: true }
  }
}
const FASTIFY = { 'node_modules/fastify': { version: '5.0.0' } }
const ESBUILD = { 'node_modules/esbuild': { version: '0.28.0' }, [`node_modules/@esbuild/${process.platform}-${process.arch}`]: { version: '0.28.0' } }

describe('the installation of packages', () => {
  it('is left as it is where everything for this platform is there', async t => {
    assert.deepEqual(await install(t, JSON.stringify({ packages: { ...FASTIFY, ...ESBUILD } })), [])
  })

  const incomplete: ReadonlyArray<readonly [string, string | undefined]> = [
    ['nothing is there', undefined],
    ['half a note is there', '{"packages":'],
    ['only what production needs is there', JSON.stringify({ packages: FASTIFY })],
    ['what is optional was left out, and with it the esbuild of this platform', JSON.stringify({ packages: { ...FASTIFY, 'node_modules/esbuild': { version: '0.28.0' } } })],
    ['a package has another version', JSON.stringify({ packages: { ...ESBUILD, 'node_modules/fastify': { version: '4.0.0' } } })]
  ]
  for (const [what, installed] of incomplete) {
    it(`is made with what builds the service where ${what}`, async t => {
      assert.deepEqual(await install(t, installed), ['ci --include=dev --include=optional --no-fund --no-audit --loglevel=error'])
    })
  }

  it('says in one line that there is no network, after a try with what npm has kept', async t => {
    const { stdout, stderr, status } = await runUninstalled(t, 'start.js', '#!/bin/sh\n[ "$1" = ping ] || echo "npm $*"\necho "npm error code EAI_AGAIN" >&2\nexit 1\n')
    assert.match(stdout, /^Installing packages \.\.\.\nnpm ci .*--offline\n$/)
    assert.deepEqual([stderr, status], ['The packages cannot be installed: the registry of npm cannot be reached (EAI_AGAIN), which is needed once\n', 1])
  })

  for (const script of ['start.js', 'test.js', 'example-tools.js']) {
    it(`comes before scripts/${script} loads a package`, async t => {
      const { stdout } = await runUninstalled(t, script, '#!/bin/sh\necho "npm $1"\nexit 1\n')
      assert.match(stdout, /^(?:npm test: .+\n)?Installing packages \.\.\.\nnpm ci\n$/)
    })
  }
})

/** Runs a script in a clean checkout with an npm that fails. */
async function runUninstalled (t: TestContext, script: string, npm: string): Promise<{ readonly stdout: string, readonly stderr: string, readonly status: number | null }> {
  const folder = await createTemporaryFolder()
  t.after(folder.remove)
  await cp('scripts', join(folder.path, 'scripts'), { recursive: true })
  await folder.write('package.json', '{ "type": "module" }')
  await folder.write('package-lock.json', JSON.stringify(LOCK))
  await folder.write('bin/npm', npm)
  await chmod(join(folder.path, 'bin', 'npm'), 0o755)
  return spawnSync(process.execPath, [join(folder.path, 'scripts', script)], { env: pathOf(folder.path), encoding: 'utf8' })
}

function pathOf (folder: string): NodeJS.ProcessEnv {
  return { PATH: [join(folder, 'bin'), dirname(process.execPath), '/bin', '/usr/bin'].join(delimiter) }
}

/** Installs in a folder of its own, with an npm that only tells how it was called; gives its calls. */
async function install (t: TestContext, installed: string | undefined): Promise<string[]> {
  const folder = await createTemporaryFolder()
  t.after(folder.remove)
  await folder.write('package-lock.json', JSON.stringify(LOCK))
  if (installed !== undefined) await folder.write('node_modules/.package-lock.json', installed)
  await folder.write('bin/npm', '#!/bin/sh\necho "npm $*"\n')
  await chmod(join(folder.path, 'bin', 'npm'), 0o755)
  const script = `import { installPackages } from '${pathToFileURL(resolve('scripts/install.js')).href}'; installPackages()`
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script], {
    cwd: folder.path,
    env: { ...pathOf(folder.path), NODE_ENV: 'production' }
  })
  return stdout.split('\n').filter(line => line.startsWith('npm ')).map(line => line.slice('npm '.length))
}
