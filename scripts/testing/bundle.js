// Bundles what many services of tests start as a process: in one file it starts in a third of the time. In dist it is bundled, too.
// This is a script of its own, since `npm test` starts before esbuild is installed.
import { cpSync } from 'node:fs'
import { build } from 'esbuild'

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
