import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

/**
 * Bundles a module that a test starts as a process many times, with the packages that it uses: it starts with two thirds of the work.
 * @param entry the module's URL
 * @param outfile where the bundle is written; schemas are looked for from there
 */
export async function bundleProcess (entry: URL, outfile: string): Promise<void> {
  const banner = { js: "import { createRequire as requireOf } from 'node:module'; const require = requireOf(import.meta.url);" }
  await build({ entryPoints: [fileURLToPath(entry)], outfile, bundle: true, format: 'esm', platform: 'node', banner, logLevel: 'error' })
}
