import { Ajv, type ErrorObject } from 'ajv'
import { type Static, Type } from '../base/schema-builder.ts'
import { fitsHeader } from '../base/text.ts'
import { isBuiltin } from '../llm/builtin/builtin-url.ts'

const milliseconds = (options: { description: string, default: number, minimum?: number, maximum?: number }) => Type.Integer({ minimum: 1, maximum: 2 ** 31 - 1, ...options })
const optional = (options: { description: string, writeOnly?: boolean }) => Type.String({ default: '', ...options })

/**
 * Every environment variable of the service, with its default and what it is for. The Config type, the checks at start,
 * ``.env.example` and the table in docs/configuration.md all come from here.
 */
export const configSchema = Type.Object({
  REDIS_URL: optional({ description: 'Redis with the registrations: `redis://[user:password@]host:port/db`, `redis+sentinel://[user:password@]host:port,host:port/master/db` or `redis+cluster://[user:password@]host:port,host:port`; `rediss` for TLS. This or `STORE_DIR` is required.', writeOnly: true }),
  REDIS_SENTINEL_PASSWORD: optional({ description: 'Password that the Sentinels ask for; their login is not that of Redis.', writeOnly: true }),
  STORE_DIR: optional({ description: 'Folder with the registrations: `extensions/ templates/ environs/ tools/ agents/ skills/ plans/` of JSON or YAML files, and `SKILL.md`.' }),
  SESSION_STORE: optional({ description: 'Where sessions are kept: a Redis as in `REDIS_URL`, a folder, or `memory`; by default `REDIS_URL`, else the folder `sessions` in `STATE_DIR`.', writeOnly: true }),
  SESSION_SECRET: optional({ description: 'Secret of at least 32 characters that the logs of sessions are sealed with, so that whoever can write to their store cannot make them act; the new one and the old one, with a comma between, while it changes. Required where `OPERATOR_FILE` offers targets or workspaces and sessions are kept in Redis.', writeOnly: true }),
  SESSION_SECRET_FILE: optional({ description: 'File with the same, one secret a line, read at the start; in place of `SESSION_SECRET`.' }),
  STATE_DIR: Type.String({ default: '.ai-prompt-shell', minLength: 1, description: 'Folder of what the service keeps on this machine: sessions, the journal of changed files, preferences of users.' }),
  SESSION_KEEP_MS: milliseconds({ default: 604_800_000, description: 'How long a session is kept after its end.' }),
  KEY_PREFIX: Type.String({ default: 'shenma:', minLength: 1, description: 'What all keys begin with.' }),
  HOST: Type.String({ default: '127.0.0.1', minLength: 1, description: 'Address to listen on.' }),
  PORT: Type.Integer({ default: 8080, minimum: 0, maximum: 65535, description: 'Port to listen on; 0 takes a free one.' }),
  WORKERS: Type.Union([Type.Literal('auto'), Type.Integer({ minimum: 1, maximum: 1024 })], { default: 1, description: 'Processes that share the port, each of them the whole service; `auto` is one for every core.' }),
  API_TOKENS: optional({ description: 'Who may call: one token a line, or several with commas between them, `name:role+role:sha256[:prompts=pattern|pattern][:environs=pattern|pattern][:runs=pattern|pattern][:targets=pattern|pattern][:requests=n][:tokens=n]`; `npm run token` makes one.', writeOnly: true }),
  API_TOKENS_FILE: optional({ description: 'File with the same, read again when it changes, so that tokens are given and revoked without a restart; in place of `API_TOKENS`.' }),
  AUTH: Type.Union([Type.Literal('on'), Type.Literal('off')], { default: 'on', description: 'Without tokens, `on` keeps the service on loopback addresses, and `off` lets in everyone who can reach it.' }),
  ALLOWED_HOSTS: optional({ description: 'Names that the service may be called by where no token is asked for, separated by commas: `prompts.example.com`; addresses and `localhost` always may.' }),
  RATE_LIMIT_REQUESTS: Type.Integer({ default: 0, minimum: 0, description: 'Requests that a token may make a minute, where its entry in `API_TOKENS` says nothing else; 0 for no limit.' }),
  RATE_LIMIT_TOKENS: Type.Integer({ default: 0, minimum: 0, description: 'Tokens of models that it may use a minute, likewise.' }),
  CORS_ORIGINS: optional({ description: 'Origins whose pages may call, separated by commas: `https://console.example.com`; none by default.' }),
  LOG_LEVEL: Type.Union(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'].map(level => Type.Literal(level)), { default: 'info', description: 'Least severity that is logged: trace, debug, info, warn, error, fatal or silent.' }),
  LOG_VALUES: Type.Boolean({ default: false, description: 'Whether request bodies, with the values of variables, and the words of tools and models are logged.' }),
  LLM_BASE_URL: optional({ description: 'OpenAI-compatible API that answers chats, ending in `/v1` or its like; `builtin:echo` is a model that repeats the last user message, `builtin:script` one that answers from `LLM_SCRIPT_FILE`.' }),
  LLM_API_KEY: optional({ description: 'Key of that API, sent as a bearer token.', writeOnly: true }),
  LLM_MODEL: optional({ description: 'Model to use when neither the request nor the prompt names one.' }),
  LLM_EMBEDDING_MODEL: optional({ description: 'Model of embeddings when the request names none; by default `LLM_MODEL`.' }),
  AI_KOSMOS_MODEL_BASE_URL: optional({ description: 'OpenAI-compatible API that carries out skills, in place of the one that answers chats.' }),
  AI_MODEL: optional({ description: 'Model that carries out skills; by default `LLM_MODEL`, and `CHEAP` at `AI_KOSMOS_MODEL_BASE_URL`.' }),
  LLM_FALLBACKS: optional({ description: 'Models to ask, in this order, when the one that was asked for fails: names separated by commas.' }),
  LLM_PROVIDERS_FILE: optional({ description: 'JSON or YAML file with several such APIs, chosen by the model\'s name; in place of `LLM_BASE_URL` and `LLM_API_KEY`.' }),
  LLM_SCRIPT_FILE: optional({ description: 'YAML file with the replies of `builtin:script`, read at the start; `jsonschema/replies.json` has its form.' }),
  LLM_CONNECT_TIMEOUT_MS: milliseconds({ default: 5000, description: 'Time for a connection to a model\'s API.' }),
  LLM_FIRST_BYTE_TIMEOUT_MS: milliseconds({ default: 120_000, description: 'Time from a request to the first byte of the model\'s answer, or the first event of its stream.' }),
  LLM_IDLE_TIMEOUT_MS: milliseconds({ default: 60_000, description: 'Longest pause within a model\'s answer, or between two events of its stream.' }),
  LLM_TIMEOUT_MS: milliseconds({ default: 600_000, description: 'Time that a chat may take over all attempts, models and turns.' }),
  LLM_CONCURRENCY: Type.Integer({ default: 1000, minimum: 1, description: 'Calls of `LLM_BASE_URL` at a time.' }),
  LLM_QUEUE: Type.Integer({ default: 100, minimum: 0, description: 'Calls that may wait for their turn there; further ones are answered 503.' }),
  CHAT_SYSTEM_MESSAGE: optional({ description: 'System message put before a prompt that is a single text; none by default.' }),
  TOOL_BASE_URLS: optional({ description: 'Where modules are, for tools with a relative URL: `module=url,module=url`.' }),
  TOOL_BASE_URL: optional({ description: 'Base URL of all other modules.' }),
  TOOL_SECRETS: optional({ description: 'Credentials that tools may refer to, and the hosts they may go to: `NAME=host|host,NAME=host`; each value is in a variable `TOOL_SECRET_NAME`.' }),
  EGRESS: Type.Union([Type.Literal('internal'), Type.Literal('strict')], { default: 'internal', description: 'Where tools may connect: `internal` allows private and loopback addresses, `strict` public ones only; link-local and metadata addresses never.' }),
  EGRESS_ALLOW: optional({ description: 'Addresses, CIDRs and host names that `EGRESS=strict` lets through, separated by commas.' }),
  TOOL_TLS_CA_FILE: optional({ description: 'PEM file with the authorities to trust for tools; the system\'s by default.' }),
  TOOL_TLS_KEY_FILE: optional({ description: 'PEM file with the key of this service\'s certificate towards tools.' }),
  TOOL_TLS_CERT_FILE: optional({ description: 'PEM file with that certificate; given together with its key.' }),
  MCP_STDIO_COMMANDS: optional({ description: 'Commands that MCP tools may be served by: `name=command argument;name=command`.' }),
  MCP_SERVER: Type.Union([Type.Literal('on'), Type.Literal('off')], { default: 'on', description: 'Whether the service is an MCP server at `/mcp`, where clients find prompts, shared variables, and tools that are registered as `callable`.' }),
  CONSOLE: Type.Union([Type.Literal('on'), Type.Literal('off')], { default: 'on', description: 'Whether the console is served at `/console/`, and `/` leads browsers to it.' }),
  OPERATOR_FILE: optional({ description: 'YAML or JSON file with the folders, hosts and commands that sessions may reach, read at the start; `jsonschema/operator.json` has its form. Nothing can be reached without it.' }),
  ALLOW_ROOT: Type.Boolean({ default: false, description: 'Whether sessions may run commands on this machine although the service runs as root.' }),
  RENDER_TIMEOUT_MS: milliseconds({ default: 500, description: 'Time that a render may take, tools and waiting for its turn included.' }),
  POLL_INTERVAL_MS: milliseconds({ default: 5000, minimum: 100, description: 'Time between two looks at the store while it does not tell of changes.' }),
  ENVIRON_CACHE_BYTES: Type.Integer({ default: 64 * 1024 * 1024, minimum: 1024, description: 'What the values of shared variables may take in memory, in bytes of stored text; those unused for longest are dropped.' }),
  EMPTY_HOLD_MS: Type.Integer({ default: 600_000, minimum: 0, description: 'How long registrations are kept when the store suddenly shows none of a kind; the first that is published again ends it.' }),
  EXAMPLE_PAGE: optional({ description: 'HTML file that is served at `/examples/term.html`, a page to try skills with; `npm start` sets it.' }),
  DRAIN_DELAY_MS: Type.Integer({ default: 5000, minimum: 0, maximum: 600_000, description: 'How long everything is still answered after SIGTERM, while `/readyz` says 503; no time at all when nobody has asked `/readyz` in the last minute.' }),
  DRAIN_TIMEOUT_MS: milliseconds({ default: 10_000, maximum: 3_600_000, description: 'Time that requests in flight may take after that, before they are cut.' }),
  DEFAULT_LANGUAGE: Type.Union([Type.Literal('en'), Type.Literal('ru')], { default: 'en', description: 'Language of the service\'s own texts in agents, skills and plans whose definitions say none: `en` or `ru`.' }),
  PAPAYU_PROFILE: Type.String({ default: 'default', minLength: 1, description: 'Profile of plans that name none; `papayu`, published from the examples, is the protocol of schema 1.' }),
  PAPAYU_LLM_MODEL: optional({ description: 'Model that makes plans; by default `LLM_MODEL`.' }),
  PAPAYU_LLM_STRICT_JSON: Type.Integer({ default: 0, minimum: 0, maximum: 1, description: 'Whether a model that makes plans is held to the schema of its answers by `response_format`: 1 or 0.' }),
  PAPAYU_LLM_TEMPERATURE: Type.Number({ default: 0, minimum: 0, maximum: 2, description: 'Temperature of that model.' }),
  PAPAYU_LLM_MAX_TOKENS: Type.Integer({ default: 16_384, minimum: 1, description: 'Tokens that its answer may have; 4096 at most for an input above 80,000 characters.' }),
  PAPAYU_LLM_TIMEOUT_SEC: Type.Integer({ default: 90, minimum: 1, maximum: 3600, description: 'How long its answer is waited for, in seconds.' }),
  PAPAYU_MAX_CONTEXT_ROUNDS: Type.Integer({ default: 2, minimum: 0, maximum: 20, description: 'How often it may ask for more to read.' }),
  PAPAYU_CONTEXT_MAX_FILES: Type.Integer({ default: 8, minimum: 0, description: 'Blocks of context that it is sent: files, searches, logs.' }),
  PAPAYU_CONTEXT_MAX_FILE_CHARS: Type.Integer({ default: 20_000, minimum: 0, description: 'Characters of one file there; the middle of a longer one is cut out.' }),
  PAPAYU_CONTEXT_MAX_TOTAL_CHARS: Type.Integer({ default: 120_000, minimum: 0, description: 'Characters of all of it; files that the model asked for keep 4096 each.' }),
  PAPAYU_CONTEXT_MAX_LOG_CHARS: Type.Integer({ default: 12_000, minimum: 0, description: 'Characters of one log there.' }),
  PAPAYU_NORMALIZE_EOL: Type.Union([Type.Literal('keep'), Type.Literal('lf')], { default: 'keep', description: 'Line ends of files that plans write: `keep` what the model wrote, `lf` for line feeds and one at the end.' }),
  PAPAYU_MEMORY_AUTOPATCH: Type.Integer({ default: 0, minimum: 0, maximum: 1, description: 'Whether what such a model wants remembered is, unasked: 1 or 0.' }),
  PAPAYU_TRACE: Type.Integer({ default: 0, minimum: 0, maximum: 1, description: 'Whether the trace of a plan is also written into its workspace, as `.papa-yu/traces/{trace_id}.json`: 1 or 0.' }),
  PAPAYU_TRACE_RAW: Type.Integer({ default: 0, minimum: 0, maximum: 1, description: 'Whether traces hold what the model answered, with what looks like a key masked: 1 or 0.' }),
  BODY_LIMIT_BYTES: Type.Integer({ default: 1024 * 1024, minimum: 1024, description: 'Largest request body.' })
})

/** The service's configuration, checked; `''` means "not given". */
export type Config = Readonly<Static<typeof configSchema>>

/** A variable that the service cannot start with. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
}

// The schema is the project's own: the compiler takes it as it is, and does not hold it to the metaschema at every start.
const ajv = new Ajv({ allErrors: true, coerceTypes: true, useDefaults: true, removeAdditional: 'all', meta: false, validateSchema: false, code: { optimize: false } })

/**
 * Reads the configuration from environment variables. An empty variable counts as not given.
 * @throws ConfigError that names the variable, what was expected and what came
 */
export function loadConfig (environment: Readonly<Record<string, string | undefined>>): Config {
  const given = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== undefined && value !== ''))
  const isConfig = ajv.compile<Config>(configSchema)
  const values: unknown = { ...given }
  if (!isConfig(values)) throw new ConfigError([...new Set(isConfig.errors?.map(violation => describe(violation, given)))].join('\n'))
  const config = Object.freeze(values)
  checkStore(config)
  checkModel(config)
  checkAccess(config)
  return config
}

/** Nobody is let in from outside by an oversight. */
function checkAccess (config: Config): void {
  const { HOST, AUTH, API_TOKENS: tokens, API_TOKENS_FILE: file } = config
  if (tokens !== '' && file !== '') throw new ConfigError('API_TOKENS and API_TOKENS_FILE: expected one of them, got both')
  if (AUTH === 'off' && asksForTokens(config)) throw new ConfigError(`AUTH=off and ${file === '' ? 'API_TOKENS' : 'API_TOKENS_FILE'}: expected one of them, got both`)
  if (asksForTokens(config) || AUTH === 'off' || isLoopback(HOST)) return
  throw new ConfigError(`HOST: without API_TOKENS expected a loopback address such as 127.0.0.1, got "${HOST}"; set API_TOKENS or API_TOKENS_FILE (npm run token makes a token), or AUTH=off to let in everyone who can reach it`)
}

/** Whether callers need tokens. */
export function asksForTokens ({ API_TOKENS: tokens, API_TOKENS_FILE: file }: Pick<Config, 'API_TOKENS' | 'API_TOKENS_FILE'>): boolean {
  return tokens !== '' || file !== ''
}

function isLoopback (host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(?:\.\d{1,3}){3}$/.test(host)
}

function checkStore (config: Config): void {
  if (config.REDIS_URL === '' && config.STORE_DIR === '') throw new ConfigError('REDIS_URL or STORE_DIR: expected one of them, got neither; npm start serves the examples')
  if (config.REDIS_URL !== '' && config.STORE_DIR !== '') throw new ConfigError('REDIS_URL and STORE_DIR: expected one of them, got both')
  if (config.REDIS_URL !== '' && !/^rediss?(\+sentinel|\+cluster)?:\/\/./.test(config.REDIS_URL)) throw new ConfigError('REDIS_URL: expected redis://host:port, redis+sentinel://host:port,host:port/master or redis+cluster://host:port,host:port; rediss for TLS')
}

function checkModel ({ LLM_BASE_URL, AI_KOSMOS_MODEL_BASE_URL, LLM_API_KEY: key, LLM_PROVIDERS_FILE: file }: Config): void {
  if (!fitsHeader(key)) throw new ConfigError('LLM_API_KEY: holds characters that no header may hold, such as a line end')
  if (LLM_BASE_URL !== '' && file !== '') throw new ConfigError('LLM_BASE_URL and LLM_PROVIDERS_FILE: expected one of them, got both')
  for (const [variable, url] of Object.entries({ LLM_BASE_URL, AI_KOSMOS_MODEL_BASE_URL })) {
    if (url === '' || isBuiltin(url)) continue
    if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) throw new ConfigError(`${variable}: expected an http(s) address such as https://api.example.com/v1, builtin:echo or builtin:script, got "${withoutSecrets(url)}"`)
  }
}

/** An address as a message may show it: what stands before an "@" or in a query may be a password. */
function withoutSecrets (address: string): string {
  return address.replace(/^([a-z][a-z\d+.-]*:\/\/)?.*@/is, '$1').replace(/[?#].*$/s, '')
}

function describe (violation: ErrorObject, given: Readonly<Record<string, string | undefined>>): string {
  const name = violation.instancePath.slice(1)
  const property = (configSchema.properties as Record<string, object>)[name] as Record<string, unknown> | undefined
  const shown = property?.['writeOnly'] === true ? '' : `, got ${JSON.stringify(given[name])}`
  return `${name}: expected ${expectation(property ?? {}) ?? violation.message ?? 'another value'}${shown}`
}

function expectation (property: Readonly<Record<string, unknown>>): string | undefined {
  if (Array.isArray(property['anyOf'])) return `one of ${(property['anyOf'] as Array<Record<string, unknown>>).map(choice => choice['const'] ?? expectation(choice)).join(', ')}`
  if (property['type'] === 'boolean') return 'true or false'
  if (property['type'] !== 'integer') return undefined
  return `an integer from ${String(property['minimum'])}${property['maximum'] === undefined ? ' up' : ` to ${String(property['maximum'])}`}`
}
