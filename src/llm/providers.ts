import { nodeHttp } from '../runtime/http-modules.ts'
import { parse as parseYaml } from 'yaml'
import { describeViolations } from '../base/errors.ts'
import { type Static, Type } from '../schema/builder.ts'
import { type Environment, fitsHeader } from '../base/text.ts'
import { type Json } from '../base/json.ts'
import { compileSchema } from '../schema/compile.ts'
import { DEFAULT_LIMITS, isBuiltin, parseBaseUrl } from './model-client.ts'

const name = Type.String({ minLength: 1, maxLength: 200 })

const ProvidersDocument = Type.Object({
  providers: Type.Array(Type.Object({
    name,
    baseUrl: Type.String({ description: 'An OpenAI-compatible API, https://api.openai.com/v1, builtin:echo or builtin:script' }),
    apiKeyEnv: Type.Optional(Type.String({ minLength: 1, description: 'The environment variable that holds the key' })),
    models: Type.Optional(Type.Array(name, { minItems: 1, description: 'Left out: every model that no other provider lists' })),
    aliases: Type.Optional(Type.Record(Type.String(), name, { description: 'Further names, each of one of the models' })),
    headers: Type.Optional(Type.Record(Type.String(), Type.String(), { description: 'Further headers of every request' })),
    limits: Type.Optional(Type.Object({
      concurrency: Type.Optional(Type.Integer({ minimum: 1, description: 'Calls at a time' })),
      queue: Type.Optional(Type.Integer({ minimum: 0, description: 'Calls that may wait' }))
    }, { additionalProperties: false }))
  }, { additionalProperties: false }), { minItems: 1 })
}, { additionalProperties: false })

export interface ProviderConfig {
  readonly name: string
  readonly baseUrl: string
  readonly apiKey?: string
  readonly models: readonly string[]
  readonly aliases: Readonly<Record<string, string>>
  readonly headers: Readonly<Record<string, string>>
  readonly limits: { readonly concurrency: number, readonly queue: number }
}

/** Parses the list of model APIs from JSON or YAML; their keys come from `environment`. @throws Error */
export function parseProviders (text: string, environment: Environment): [ProviderConfig, ...ProviderConfig[]] {
  const document = parseDocument(text)
  const violations = compileSchema(ProvidersDocument as unknown as Json).validate(document as Json, 'document')
  if (violations.length > 0) throw new Error(describeViolations(violations))
  const providers = (document as Static<typeof ProvidersDocument>).providers.map(entry => checkEntry(entry, environment))
  checkTogether(providers)
  return providers as [ProviderConfig, ...ProviderConfig[]]
}

function parseDocument (text: string): unknown {
  try {
    return parseYaml(text)
  } catch (error) {
    throw new Error(`is neither JSON nor YAML: ${(error as Error).message.split('\n', 1)[0]}`)
  }
}

function checkEntry (entry: Static<typeof ProvidersDocument>['providers'][number], environment: Environment): ProviderConfig {
  const { name, baseUrl, apiKeyEnv, models = [], aliases = {}, headers = {}, limits } = entry
  const refuse = (reason: string) => new Error(`provider "${name}": ${reason}`)
  if (!isBuiltin(baseUrl)) attempt(() => parseBaseUrl(baseUrl), reason => refuse(`baseUrl: ${reason}`))
  for (const [header, value] of Object.entries(headers)) {
    attempt(() => {
      nodeHttp.validateHeaderName(header)
      nodeHttp.validateHeaderValue(header, value)
    }, () => refuse(`headers: "${header}" is no header that can be sent`))
  }
  const stray = Object.entries(aliases).find(([, model]) => models.length > 0 && !models.includes(model))
  if (stray !== undefined) throw refuse(`aliases: "${stray[0]}" stands for "${stray[1]}", which is not one of its models`)
  const apiKey = apiKeyEnv === undefined ? undefined : environment[apiKeyEnv]
  if (apiKeyEnv !== undefined && (apiKey === undefined || apiKey === '')) throw refuse(`apiKeyEnv: the environment variable ${apiKeyEnv} is not set`)
  if (apiKey !== undefined && !fitsHeader(apiKey)) {
    throw refuse(`apiKeyEnv: the environment variable ${apiKeyEnv} holds characters that no header may hold, such as a line end`)
  }
  return { name, baseUrl, models, aliases, headers, limits: { ...DEFAULT_LIMITS, ...limits }, ...(apiKey === undefined ? {} : { apiKey }) }
}

function checkTogether (providers: readonly ProviderConfig[]): void {
  const twice = providers.find(({ name }, index) => providers.findIndex(other => other.name === name) < index)
  if (twice !== undefined) throw new Error(`two providers are called "${twice.name}"`)
  const [, second] = providers.filter(({ models }) => models.length === 0)
  if (second !== undefined) throw new Error(`provider "${second.name}": models: only one provider may leave them out`)
}

function attempt (check: () => void, refuse: (reason: string) => Error): void {
  try {
    check()
  } catch (error) {
    throw refuse((error as Error).message)
  }
}
