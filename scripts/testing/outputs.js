// What is compiled into .build stays there, so that the next compile has less to do. What has no source any more must not.
import { cpSync, existsSync, readdirSync, rmSync } from 'node:fs'
import { build } from 'esbuild'

const COMPILED = ['src', 'test', 'bench', 'scripts', 'examples']

/** Removes what was compiled from, or copied of, a file that is gone. */
export function removeOrphans () {
  for (const folder of COMPILED.filter(each => existsSync(`.build/${each}`))) {
    for (const entry of readdirSync(`.build/${folder}`, { recursive: true, withFileTypes: true })) {
      if (entry.isDirectory()) continue
      const path = `${entry.parentPath ?? entry.path}/${entry.name}`.replaceAll('\\', '/')
      if (!hasSource(path.slice('.build/'.length))) rmSync(path)
    }
  }
}

function hasSource (path) {
  return existsSync(path) || existsSync(path.replace(/\.js(?:\.map)?$/, '.ts'))
}

/** Copies what tests read beside themselves, and what they start as a process of its own, to where they look for it. */
export function copySources () {
  for (const path of ['src', 'test', 'jsonschema', 'prompts.json']) cpSync(path, `.build/${path}`, { recursive: true })
}

/** What many services of tests start as a process: in one file it starts in a third of the time. In dist it is bundled, too. */
export async function bundleProcesses () {
  // A bundle looks for schemas from where it is, which is one folder further down than the module that reads them.
  cpSync('jsonschema', '.build/src/jsonschema', { recursive: true })
  await build({
    entryPoints: ['src/service/lint/candidate-process.ts', 'src/tool/grpc/description-process.ts'],
    outdir: '.build/src',
    outbase: 'src',
    bundle: true,
    format: 'esm',
    platform: 'node',
    banner: { js: "import { createRequire as requireOf } from 'node:module'; const require = requireOf(import.meta.url);" },
    allowOverwrite: true,
    logLevel: 'warning'
  })
}
