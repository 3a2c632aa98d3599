import { symlink } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

/**
 * Bundles a module that a test starts as a process many times, with the packages that it uses: it starts with two thirds of the work.
 * @param entry the module's URL
 * @param folder where the bundle is written, and what it reads besides: schemas, and the packages that no bundle can have
 * @returns the bundle's path, as deep below what it reads as the source is
 */
export async function bundleProcess (entry: URL, folder: string): Promise<string> {
  const outfile = join(folder, 'src/built/child.mjs')
  for (const name of ['node_modules', 'jsonschema']) await symlink(resolve(name), join(folder, name))
  const banner = { js: "import { createRequire as requireOf } from 'node:module'; const require = requireOf(import.meta.url);" }
  await build({ entryPoints: [fileURLToPath(entry)], outfile, bundle: true, format: 'esm', platform: 'node', banner, logLevel: 'error' })
  return outfile
}
