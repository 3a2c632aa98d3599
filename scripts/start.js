// npm start: everything that a first look needs. Installs what is missing, builds, and serves examples/ with a model
// that answers from a script. In production run `node dist/main.js` with its environment variables instead.
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { installPackages, run } from './install.js'

const SCRIPT = 'builtin:script'

process.chdir(fileURLToPath(new URL('..', import.meta.url)))
installPackages()
run('npm', ['run', '--silent', 'build'])

const { env } = process
// What it says comes before the examples; `serve` tells of what is wrong in it.
if (existsSync('.env')) process.loadEnvFile('.env')
const usesExamples = !env.REDIS_URL && !env.STORE_DIR
const model = env.LLM_BASE_URL || (env.LLM_PROVIDERS_FILE ? '' : SCRIPT)

// A plan changes files and runs checks: without its operator's word only a script does so in this checkout.
const offered = usesExamples && model === SCRIPT && !env.OPERATOR_FILE ? { OPERATOR_FILE: 'examples/operator.yaml' } : {}
// As src/workers/memory-flags.ts: said here, so that `serve` need not start a process of its own.
const isTold = /--max[-_]semi[-_]space[-_]size/.test(env.NODE_OPTIONS ?? '')
const flags = Number.parseInt(process.versions.node) < 22 || isTold ? [] : ['--max-semi-space-size=16']
// In a container people are often root, and try things out: only a service of its own refuses that.
if (process.getuid?.() === 0 && !env.ALLOW_ROOT) console.log('you are root: commands of sessions run as root, too, which only npm start allows (ALLOW_ROOT)')
const service = spawn(process.execPath, [...flags, 'dist/cli/aps.js', 'serve'], {
  stdio: 'inherit',
  // In a process group of its own: Ctrl-C reaches all of a group, and a service that hears it twice does not wait for its requests.
  detached: process.platform !== 'win32',
  env: {
    ...env,
    ...(usesExamples ? { STORE_DIR: 'examples' } : {}),
    LLM_BASE_URL: model,
    LLM_SCRIPT_FILE: env.LLM_SCRIPT_FILE || 'examples/demo/replies.yaml',
    ...offered,
    ALLOW_ROOT: env.ALLOW_ROOT || 'true'
  }
})
service.on('exit', code => process.exit(code ?? 1))
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => service.kill(signal))
