import { type FastifyBaseLogger } from 'fastify'
import { type Config } from './config.ts'
import { type App } from './http/app-types.ts'
import { createServer } from './http/server.ts'
import { type ModelClient } from './llm/model-client.ts'
import { createModelClient } from './llm/create-model-client.ts'
import { operatorFrom } from './service/operator-from.ts'
import { Environs } from './registry/environs.ts'
import { Registry } from './registry/registry.ts'
import { createPromptChat } from './service/chat-with-prompt.ts'
import { createEnvironReader } from './service/read-environ.ts'
import { createRecordings } from './service/recordings.ts'
import { createPromptRenderer } from './service/render-prompt.ts'
import { createToolTrial } from './service/try-tool.ts'
import { createToolCaller } from './tool/tool-caller.ts'
import { callWith } from './service/call-tool.ts'
import { kindPrefix } from './store/keys.ts'
import { openStore } from './store/open-store.ts'
import { type Store } from './store/store.ts'
import { goLanguage } from './template/go/go-language.ts'
import { handlebarsLanguage } from './template/handlebars/handlebars-language.ts'

/** How long a start waits for tool servers to tell what they offer, in ms; what comes later is linked then. */
const TOOL_PATIENCE = 1000

/**
 * The whole service in boot order: the store is opened, the registry reads it, the use cases are made over both, and
 * HTTP is put in front. Closing the returned app closes everything.
 *
 * @param store in place of the configured one
 * @throws ConfigError, StoreError
 */
export async function createApp (config: Config, log: FastifyBaseLogger, store?: Store): Promise<App> {
  store ??= await openConfiguredStore(config, log)
  const environs = new Environs(store, kindPrefix(config.KEY_PREFIX, 'environs'))
  const operator = operatorFrom(config, environs, process.env)
  const tools = createToolCaller({ operator, log, changed: () => { registry.relink() } })
  const registry = new Registry({
    store,
    environs,
    operator,
    registerTools: tools.register,
    keyPrefix: config.KEY_PREFIX,
    languages: [handlebarsLanguage, goLanguage],
    pollInterval: config.POLL_INTERVAL_MS,
    emptyHold: config.EMPTY_HOLD_MS,
    log
  })
  const model = createConfiguredModel(config, log)

  const callTool = callWith(tools)
  const renderPrompt = createPromptRenderer({ environs, callTool, timeout: config.RENDER_TIMEOUT_MS })
  const recordings = createRecordings({ renderPrompt, environs, callTool, maxBody: config.BODY_LIMIT_BYTES })
  const chatWithPrompt = createPromptChat({ renderPrompt, model, systemMessage: config.CHAT_SYSTEM_MESSAGE })
  const readEnviron = createEnvironReader({ environs, timeout: config.RENDER_TIMEOUT_MS })
  const tryTool = createToolTrial({ tools })

  await registry.start()
  await tools.prepared(TOOL_PATIENCE)
  const app = await createServer({
    log,
    registry,
    renderPrompt,
    chatWithPrompt,
    readEnviron,
    recordings,
    tryTool,
    toolStates: tools.states,
    environPrefix: kindPrefix(config.KEY_PREFIX, 'environs'),
    bodyLimit: config.BODY_LIMIT_BYTES
  })
  app.addHook('onClose', async () => {
    await registry.stop()
    await Promise.all([tools.close(), store.close(), model?.close()])
  })
  await app.ready()
  return app
}

/** `undefined` when no model is configured: chats then say so. */
function createConfiguredModel (config: Config, log: FastifyBaseLogger): ModelClient | undefined {
  if (config.LLM_BASE_URL === '') return undefined
  return createModelClient({
    baseUrl: config.LLM_BASE_URL,
    ...(config.LLM_API_KEY === '' ? {} : { apiKey: config.LLM_API_KEY }),
    ...(config.LLM_MODEL === '' ? {} : { model: config.LLM_MODEL }),
    timeouts: { total: config.LLM_TIMEOUT_MS },
    log
  })
}

function openConfiguredStore (config: Config, log: FastifyBaseLogger): Promise<Store> {
  const place = config.REDIS_URL === '' ? { directory: config.STORE_DIR } : { redisUrl: config.REDIS_URL }
  return openStore({ ...place, keyPrefix: config.KEY_PREFIX, log })
}
