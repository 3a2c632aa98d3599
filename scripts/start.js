// npm start: everything that a first look needs. Installs what is missing, builds, and serves examples/ with a model
// that answers from a script. In production run `node dist/main.js` with its environment variables instead.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { get } from 'node:http'
import { createServer } from 'node:net'
import { fileURLToPath } from 'node:url'
import { installPackages, run } from './install.js'

const BANNER_TIMEOUT = 15_000
const SCRIPT = 'builtin:script'
const REPLIES = 'examples/demo/replies.yaml'

const host = process.env.HOST || '127.0.0.1'
// Chosen here where the service would choose, so that the banner can say which one it is.
const port = process.env.PORT === '0' ? await freePort(host) : process.env.PORT || '8080'
const address = `http://${host.includes(':') ? `[${host}]` : host}:${port}`
if (await answers(address)) {
  console.error(`Something answers at ${address} already: stop it, or choose another PORT.`)
  process.exit(1)
}

process.chdir(fileURLToPath(new URL('..', import.meta.url)))
installPackages()
run('npm', ['run', '--silent', 'build'])

const usesExamples = !process.env.REDIS_URL && !process.env.STORE_DIR
const providers = process.env.LLM_PROVIDERS_FILE
const model = process.env.LLM_BASE_URL || (providers ? '' : SCRIPT)
const replies = process.env.LLM_SCRIPT_FILE || REPLIES

// A plan changes files and runs checks: without its operator's word only a script does so in this checkout.
const offered = usesExamples && model === SCRIPT && !process.env.OPERATOR_FILE ? { OPERATOR_FILE: 'examples/operator.yaml' } : {}

// In a container people are often root, and try things out: only a service of its own refuses that.
// In a process group of its own: Ctrl-C reaches all of a group, and a service that hears it twice does not wait for its requests.
const service = spawn(process.execPath, ['dist/main.js'], {
  stdio: 'inherit',
  detached: process.platform !== 'win32',
  env: { ...process.env, ...(usesExamples ? { STORE_DIR: 'examples' } : {}), HOST: host, PORT: port, LLM_BASE_URL: model, LLM_SCRIPT_FILE: replies, ...offered, ALLOW_ROOT: process.env.ALLOW_ROOT || 'true', EXAMPLE_PAGE: 'examples/term.html', LOG_LEVEL: process.env.LOG_LEVEL || 'warn' }
})
service.on('exit', code => process.exit(code ?? 1))
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => service.kill(signal))

if (await isUp(address)) console.log(banner(address))

/** Waits for the service to answer; gives up when it takes too long, since it tells its own trouble. */
async function isUp (url) {
  const deadline = Date.now() + BANNER_TIMEOUT
  while (Date.now() < deadline) {
    if (await answers(url)) return true
    await new Promise(resolve => setTimeout(resolve, 50))
  }
  return false
}

async function freePort (address) {
  const server = createServer().listen(0, address)
  await once(server, 'listening')
  const { port } = server.address()
  server.close()
  return String(port)
}

/** An agent of its own takes no proxy from the environment, as `fetch` may do. */
function answers (url) {
  return new Promise(resolve => {
    get(`${url}/readyz`, { agent: false }, reply => {
      reply.resume()
      resolve(reply.statusCode === 200)
    }).on('error', () => resolve(false))
  })
}

function banner (url) {
  const answers = model === SCRIPT
    ? `The model is a SCRIPT: it answers from ${replies}, and repeats what that has no reply to. For real answers set
  LLM_BASE_URL=https://api.openai.com/v1 LLM_API_KEY=... LLM_MODEL=... npm start`
    : `Models: ${model || providers}`
  const attempt = usesExamples ? '/api/render/prompts/greet -H \'content-type: application/json\' -d \'{"variables":{"name":"Ada"}}\'' : '/api/prompts'
  return `
ai-prompt-shell serves ${usesExamples ? 'examples/' : 'your registrations'} at ${url}
Swagger UI: ${url}/docs
Skills: ${url}/examples/term.html

Try it:
  curl -s ${url}${attempt}

${answers}
`
}
