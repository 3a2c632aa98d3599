// npm run build: src as JavaScript in dist, console/ as what browsers load in dist/console. Types are checked by npm run typecheck.
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { buildConsole } from './build-console.js'
import { readyValidators } from './ready-validators.js'

process.chdir(fileURLToPath(new URL('..', import.meta.url)))
rmSync('dist', { recursive: true, force: true })
// Node takes some 0.7 ms to find and link a module, and a start needs a thousand of them, src's and those of packages: in few
// files, it takes a third less time.
// What is imported only when it is needed keeps files of its own. All of them lie one folder below dist, as deep as
// modules do in src, since some find other files from where they are. What a running service may need for the first time
// long after its start has a name that the next build keeps: a hash in it would leave the service without it.
const common = {
  outdir: 'dist',
  bundle: true,
  metafile: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node20.19',
  plugins: [await readyValidators()],
  // What a package requires of Node.
  banner: { js: "import { createRequire as requireOfNode } from 'node:module'; const require = requireOfNode(import.meta.url);" },
  logLevel: 'warning'
}
/** What finds files of its own by where it lies (workers, pages), and what a start does not need. */
const APART = ['@lydell/node-pty', '@fastify/helmet', '@fastify/swagger', '@fastify/swagger-ui', '@grpc/grpc-js', '@grpc/proto-loader', '@modelcontextprotocol/client', '@modelcontextprotocol/server', '@opentelemetry/*', 'pino', 'pino-pretty', 'protobufjs', 'ssh2', 'undici']
const service = await build({
  ...common,
  external: APART,
  entryPoints: [
    { in: 'src/main.ts', out: 'main' },
    { in: 'src/service/lint/candidate-process.ts', out: 'parts/candidate-process' },
    { in: 'src/tool/grpc/description-process.ts', out: 'parts/description-process' },
    { in: 'src/files/workspaces.ts', out: 'parts/workspaces' },
    { in: 'src/session/store/memory-session-store.ts', out: 'parts/memory-session-store' },
    { in: 'src/session/store/directory-session-store.ts', out: 'parts/directory-session-store' },
    { in: 'src/session/store/redis-session-store.ts', out: 'parts/redis-session-store' },
    { in: 'src/engine/engines.ts', out: 'parts/engines' },
    { in: 'src/http/openapi.ts', out: 'parts/openapi' },
    { in: 'src/exec/ssh-executor.ts', out: 'parts/ssh-executor' },
    { in: 'src/store/read-dotprompt.ts', out: 'parts/read-dotprompt' },
    { in: 'src/config/config.ts', out: 'config' },
    { in: 'src/registry/kind-table.ts', out: 'registry/kinds' },
    { in: 'src/store/directory-store.ts', out: 'store/directory-store' },
    { in: 'src/store/redis/redis-store.ts', out: 'store/redis-store' }
  ],
  chunkNames: 'parts/[name]-[hash]'
})
// The command line is one file, which shares none with the service: both start with as few as they can.
// What every command needs of packages is in it: to find and link their files is a third of what `aps --help` takes.
const { dependencies } = JSON.parse(readFileSync('package.json', 'utf8'))
const OF_EVERY_COMMAND = ['commander', 'lossless-json', 'yaml']
const aps = await build({
  ...common,
  external: Object.keys(dependencies).filter(name => !OF_EVERY_COMMAND.includes(name)),
  entryPoints: [{ in: 'src/cli/aps.ts', out: 'cli/aps' }],
  chunkNames: 'parts/aps-[name]-[hash]',
  alias: { commander: './node_modules/commander/index.js' },
  legalComments: 'none'
})
writeFileSync('dist/LICENSES.txt', licences([service, aps]))
// The client for programs of others: for Node and for browsers, with its types.
await build({ entryPoints: ['src/client/client.ts'], outdir: 'dist/client', bundle: true, format: 'esm', platform: 'neutral', target: 'es2022', logLevel: 'warning' })
execFileSync(process.execPath, ['node_modules/typescript7/bin/tsc', '-p', 'src/client/tsconfig.json'], { stdio: 'inherit' })
await buildConsole()

/** Of all packages that are in what was built: their licences ask for it. */
function licences (builds) {
  const inputs = builds.flatMap(({ metafile }) => Object.keys(metafile.inputs))
  const folders = new Set(inputs.flatMap(path => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path) ?? []))
  return [...folders].sort().map(folder => {
    const { name, version, license } = JSON.parse(readFileSync(`${folder}/package.json`, 'utf8'))
    const file = readdirSync(folder).find(file => /^licen[sc]e/i.test(file))
    return `${name} ${version}\n\n${file === undefined ? license : readFileSync(`${folder}/${file}`, 'utf8')}`
  }).join('\n\n')
}
