import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { promisify } from 'node:util'
import { isRegistryReachable, openRegistry } from '../helpers/package-registry.ts'
import { createTemporaryFolder } from '../helpers/temporary-folder.ts'

const run = promisify(execFile)

/** As `npm pack --json` describes a package. */
interface Packed {
  readonly filename: string
  readonly entryCount: number
  readonly size: number
  readonly unpackedSize: number
  readonly files: ReadonlyArray<{ readonly path: string }>
}

const folder = await createTemporaryFolder()

describe('the package', () => {
  after(folder.remove)
  let packed: Packed
  before(async () => { packed = (JSON.parse((await run(process.execPath, ['scripts/pack.js', folder.path])).stdout) as Packed[])[0] as Packed })

  it('is made of what a service needs, of its pages, and of examples', () => {
    const tops = new Set(packed.files.map(({ path }) => path.split('/', 1)[0]))
    assert.deepEqual([...tops].toSorted(), ['CONTRIBUTING.md', 'LICENSE', 'README.md', 'SECURITY.md', 'dist', 'docs', 'examples', 'jsonschema', 'npm-shrinkwrap.json', 'package.json', 'prompts.json'])
  })

  it('stays within 560 files, 3.6 MB packed and 13 MB unpacked', () => {
    assert.ok(packed.entryCount <= 560, `${packed.entryCount} files`)
    assert.ok(packed.size <= 3_600_000, `${packed.size} bytes`)
    assert.ok(packed.unpackedSize <= 13_000_000, `${packed.unpackedSize} bytes`)
  })

  it('installs the tree of the lock file, without a warning, in at most 132 MB', async t => {
    if (!await isRegistryReachable()) return t.skip('the registry of npm cannot be reached')
    const registry = await openRegistry(t, join(folder.path, packed.filename))
    await folder.write('app/package.json', '{ "private": true }')
    const cwd = join(folder.path, 'app')
    const { stdout, stderr } = await run('npm', ['install', 'ai-prompt-shell', '--registry', registry, '--engine-strict', '--fetch-timeout', '20000'], { cwd })
    assert.doesNotMatch(stdout + stderr, /warn/i)
    assert.deepEqual(await differencesFromLock(join(cwd, 'node_modules/ai-prompt-shell')), [])
    const { stdout: kilobytes } = await run('du', ['-sk', 'node_modules'], { cwd })
    assert.ok(Number.parseInt(kilobytes) <= 132_000, kilobytes)
    const { stdout: wrote } = await run('npx', ['--no-install', 'ai-prompt-shell', 'init', 'hello'], { cwd })
    assert.match(wrote, /^wrote 6 files in hello\/$/m)
  })
})

/** Packages below an installed product whose version is not the one of the lock file, with both versions. */
async function differencesFromLock (product: string): Promise<readonly string[]> {
  const { packages } = JSON.parse(await readFile('package-lock.json', 'utf8')) as { packages: Record<string, { version: string, dev?: boolean, optional?: boolean }> }
  const shipped = Object.entries(packages).filter(([path, { dev, optional }]) => path !== '' && dev !== true && optional !== true)
  const compared = shipped.map(async ([path, { version }]) => {
    const installed = await readFile(join(product, path, 'package.json'), 'utf8').then(text => (JSON.parse(text) as { version: string }).version, () => 'none')
    return installed === version ? [] : [`${path}: ${version}, installed ${installed}`]
  })
  return (await Promise.all(compared)).flat()
}
