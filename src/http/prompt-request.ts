import type { FastifyReply, FastifyRequest } from 'fastify'
import { isUnlimited } from '../access/caller.ts'
import { visibleGeneration } from '../access/views.ts'
import { ServiceError, requestInvalid } from '../base/errors.ts'
import type { JsonObject } from '../base/json.ts'
import { Type } from '../schema/builder.ts'
import type { Generation } from '../registry/generation.ts'
import { promptKind } from '../registry/kinds/prompt-kind.ts'
import { LABEL_PATTERN } from '../registry/kinds/release-record.ts'
import type { Registry } from '../registry/registry.ts'
import { BundleSchema } from '../service/recordings.ts'
import { type ChoosePrompt, type ChosenPrompt, lookUpPrompt, resolveId, type VersionSelector } from '../service/choose-prompt.ts'
import { toPath } from '../store/store.ts'
import type { App } from './app.ts'
import { nullable, oneOf, completionReply, type MediaReply, partPlace } from './schemas.ts'

/** Further ones are only counted: one prompt can call a hundred tools. */
const MAX_NAMES = 20

/** Shows clients where default values stand for results of failed tools; letters a header cannot hold are percent-encoded. */
export function setToolDefaults (reply: FastifyReply): (functions: readonly string[]) => void {
  return functions => {
    const names = functions.slice(0, MAX_NAMES).map(encodeURIComponent)
    const more = functions.length - names.length
    reply.header('x-tool-defaults', [...names, ...(more > 0 ? [`+${more}`] : [])].join(', '))
  }
}

export const variables = nullable(Type.Object({}, { additionalProperties: true }), { description: 'Values for the template, as `variables.*`' })
const args = nullable(Type.Object({}, { additionalProperties: true }), { description: 'Another name for variables' })

const user = nullable(Type.String(), { description: 'Who it is for: stands for the query\'s `key`' })

/** Two names of one field; null counts as left out. */
const ONE_NAME = { not: { type: 'object', required: ['variables', 'args'], properties: { variables: { type: 'object' }, args: { type: 'object' } } } }

const EXAMPLE = { variables: { name: 'Ada' } }

export const SPEAKERS = ['user', 'assistant', 'tool'] as const
export const MAX_MESSAGES = 1000

export const messages = nullable(
  Type.Array(Type.Object({ role: oneOf(SPEAKERS) }, { additionalProperties: true }), { maxItems: MAX_MESSAGES }),
  { description: 'The conversation so far: it goes where the prompt has `history`, else behind, and is not rendered' })

/** No body, `{}` and `variables: null` all mean "no variables"; with a bundle its variables are used. */
export const RenderBody = Type.Union([
  Type.Object({
    variables,
    args,
    messages,
    bundle: nullable(BundleSchema, { description: 'What a render with `?tools=record` gave: rendered again, without a call' }),
    user,
    safety_identifier: user
  }, ONE_NAME),
  Type.Null()
], { examples: [EXAMPLE] })

export const ChatBody = Type.Union([
  Type.Object({
    variables,
    args,
    stream: nullable(Type.Boolean(), { description: 'Whether to answer with server-sent events; not with `?explain=true`' }),
    fallbacks: nullable(Type.Array(Type.String({ minLength: 1 }), { maxItems: 20 }), { description: 'Models to ask when the first one fails' }),
    model: nullable(Type.String({ minLength: 1 }), { description: 'Left out: the prompt\'s default, then the service\'s' }),
    messages,
    temperature: nullable(Type.Number()),
    top_p: nullable(Type.Number()),
    n: nullable(Type.Integer()),
    max_tokens: nullable(Type.Integer()),
    frequency_penalty: nullable(Type.Number()),
    presence_penalty: nullable(Type.Number()),
    stop: Type.Optional(Type.Union([Type.String(), Type.Array(Type.String()), Type.Null()])),
    user: nullable(Type.String())
  }, { additionalProperties: true, ...ONE_NAME }),
  Type.Null()
], { examples: [{ ...EXAMPLE, temperature: 0.2 }] })

export function givenVariables (body: { variables?: object | null, args?: object | null } | null): JsonObject | undefined {
  return (body?.variables ?? body?.args ?? undefined) as JsonObject | undefined
}

export const RevisionQuery = Type.Object({
  revision: Type.Optional(Type.String({ minLength: 1, maxLength: 100, description: 'Answer 409 when the prompt is at another revision; replies have it in `x-prompt-revision`' }))
})

export const SelectorQuery = Type.Object({
  label: Type.Optional(Type.String({ pattern: LABEL_PATTERN, description: 'The version that this label means, such as production; `latest` is what was published last. The same as `@production` behind the id' })),
  version: Type.Optional(Type.Integer({ minimum: 1, maximum: 1e15 - 1, description: 'This version; the same as `@7` behind the id' }))
})

/** `key` decides which version is used where a label is divided among several. */
export const ChoiceQuery = Type.Object({
  ...SelectorQuery.properties,
  key: Type.Optional(Type.String({ minLength: 1, maxLength: 512, description: 'Where a label has several versions, the same key always gets the same one; left out, `user` or `safety_identifier` of the body, else chance' }))
})

/** Named in the reply's headers, also of an error. @throws what `ChoosePrompt` throws */
export async function choose (
  choosePrompt: ChoosePrompt,
  { generation, caller, body }: FastifyRequest,
  reply: FastifyReply,
  id: string,
  wish: VersionSelector
): Promise<ChosenPrompt> {
  const { label, version, key = keyOf(body) } = wish
  const found = choosePrompt(generation, caller, id, { label, version, key })
  const chosen = found instanceof Promise ? await found : found
  reply.header('x-prompt-revision', chosen.prompt.revision)
  if (chosen.version !== undefined) reply.header('x-prompt-version', chosen.version)
  if (chosen.label !== undefined) reply.header('x-prompt-label', chosen.label)
  return chosen
}

/** A failed choice counts as a failed render. @throws what `ChoosePrompt` throws */
export async function chooseToRender (
  choosePrompt: ChoosePrompt,
  request: FastifyRequest,
  reply: FastifyReply,
  id: string,
  wish: VersionSelector
): Promise<ChosenPrompt> {
  try {
    return await choose(choosePrompt, request, reply, id, wish)
  } catch (error) {
    if (error instanceof ServiceError) request.activity.beginRender(id, undefined).ended(error.code)
    throw error
  }
}

/** From the fields that OpenAI's clients send; the same user always gets the same version of a prompt. */
function keyOf (body: unknown): string | undefined {
  if (typeof body !== 'object' || body === null) return undefined
  for (const name of ['user', 'safety_identifier']) {
    const value = Object.hasOwn(body, name) ? (body as Record<string, unknown>)[name] : undefined
    if (typeof value === 'string' && value !== '') return value
  }
  return undefined
}

/** An entry stored a moment ago may not have reached this process yet. What is hidden from the caller stays hidden. */
export async function seekPrompt (request: FastifyRequest, reply: FastifyReply, registry: Registry, id: string): Promise<void> {
  const { generation, caller } = request
  const path = toPath(resolveId(id).id)
  if (isKnown(generation, id) || caller.prompts?.allows(path) === false) return
  if (!await registry.seek(promptKind, path)) return
  request.generation = visibleGeneration(registry.generation, caller)
  if (isUnlimited(caller)) reply.header('x-registry-revision', request.generation.revision)
}

export function seekPrompts (app: App, registry: Registry): void {
  app.addHook('preHandler', (request, reply, done) => {
    if (request.routeOptions.config.seeksPrompt !== true) return done()
    const { id } = request.params as { readonly id: string }
    if (isKnown(request.generation, id)) return done()
    seekPrompt(request, reply, registry, id).then(() => done(), done)
  })
}

/** Also as `id@3` or `id@production`, and when only its versions and labels are loaded. */
function isKnown (generation: Generation, id: string): boolean {
  if (lookUpPrompt(generation, id) !== undefined) return true
  const named = resolveId(id)
  return (named.id !== id && lookUpPrompt(generation, named.id) !== undefined) || generation.releases.has(toPath(named.id))
}

export const ExplainQuery = Type.Object({
  explain: Type.Boolean({ default: false, description: 'Adds to the reply what every piece of the prompt was made from; not with `stream: true` in the body' })
})

const duration = Type.Number({ minimum: 0, description: 'In ms' })
const path = Type.String({ description: 'From the scope root', examples: ['variables.name'] })

const Source = Type.Union([
  Type.Object({ kind: Type.Literal('literal') }, { description: 'The template itself' }),
  Type.Object({ kind: Type.Literal('variable'), path }, { description: 'What the caller sent' }),
  Type.Object({
    kind: Type.Literal('environ'),
    path,
    key: Type.String({ description: 'The shared variable\'s id; `chat.*` is all that lies below chat' }),
    revision: Type.Optional(Type.String({ description: 'A hash of its value; left out where only names were looked at' }))
  }, { description: 'A shared variable' }),
  Type.Object({ kind: Type.Literal('tool'), tool: Type.String({ description: 'The tool\'s id' }), call: Type.Integer({ minimum: 0, description: 'Which of the calls' }) }, { description: 'A tool\'s result, or what stands in for it' }),
  Type.Object({ kind: Type.Literal('default'), path: Type.Optional(path) }, { description: 'What stands in for a missing value: the default of a parameter, which path names, or the fallback of the function default' })
])

export const Span = Type.Object({
  text: Type.String(),
  line: Type.Integer({ minimum: 1, description: 'Where it is written in the template' }),
  column: Type.Integer({ minimum: 1 }),
  partial: Type.Optional(Type.String({ description: 'The partial whose template that is, as `id@7` for a version of one; left out for the prompt\'s own' })),
  ...partPlace,
  sources: Type.Array(Source, { minItems: 1, maxItems: 100, description: 'All that it was made from' })
})

export const explainedMessage = {
  role: Type.Optional(Type.String({ description: 'Left out for a placeholder' })),
  placeholder: Type.Optional(Type.Literal('history', { description: 'The messages of the caller go here; they have no spans' }))
}

const ToolStepReply = Type.Object({
  turn: Type.Integer({ minimum: 1, description: 'Which turn of the model asked for it' }),
  tool: Type.String({ description: 'The tool\'s id' }),
  arguments: Type.Optional(Type.Union([Type.Object({}, { additionalProperties: true }), Type.String()], { description: 'As the model gave them: the text as it is where it is no JSON object; left out where it is longer than 16 KiB' })),
  outcome: oneOf(['ok', 'cached', 'failed']),
  durationMs: duration,
  error: Type.Optional(Type.String({ description: 'Why it failed', examples: ['TIMEOUT'] }))
})

export const ExplanationReply = Type.Object({
  prompt: Type.String({ description: 'Id of the prompt' }),
  revision: Type.String({ description: 'A hash of what is rendered and sent, of the prompt and of those that it includes' }),
  version: Type.Optional(Type.Integer({ description: 'Which version of the prompt it is; left out for content that is none' })),
  label: Type.Optional(Type.String({ description: 'The label that it was served under' })),
  bucket: Type.Optional(Type.Number({ description: 'Where the key fell between 0 and 100, for a label with several versions' })),
  passes: Type.Array(Type.Object({ durationMs: duration }), { minItems: 1, description: 'The passes over the template, in their order' }),
  calls: Type.Array(Type.Object({
    tool: Type.String({ description: 'The tool\'s id' }),
    arguments: Type.Optional(Type.Object({}, { additionalProperties: true, description: 'As sent; left out where they are longer than 16 KiB' })),
    outcome: oneOf(['ok', 'cached', 'failed', 'recorded', 'stubbed'], { description: 'recorded, stubbed: no tool was asked' }),
    durationMs: duration,
    error: Type.Optional(Type.String({ description: 'Why it failed', examples: ['TIMEOUT'] }))
  }), { description: 'The calls of tools, in the order in which they were answered' }),
  toolDefaults: Type.Array(Type.String(), { description: 'Functions of tools whose calls failed: their defaults, or nothing, stood in for what they give' }),
  toolSteps: Type.Optional(Type.Array(ToolStepReply, { description: 'Only of a chat: the calls that the model made of registered tools, in the order in which they were answered' })),
  messages: Type.Array(Type.Object({
    ...explainedMessage,
    spans: Type.Array(Span, { description: 'Joined, their texts are the message\'s content; of a message of parts, those of one part and member are its text' })
  }), { description: 'The prompt\'s own, and the place of the caller\'s' })
}, { $id: 'Explanation', title: 'Explanation' })

export const explainedCompletionReply: MediaReply = {
  ...completionReply,
  content: {
    ...completionReply.content,
    'application/json': {
      schema: Type.Object({
        ...completionReply.content['application/json'].schema.properties,
        explain: Type.Optional(Type.Ref('Explanation'))
      }, { additionalProperties: true })
    }
  }
}

/** A stream has no place for an explanation. @throws REQUEST_INVALID */
export function refuseExplainedStream ({ explain }: { readonly explain: boolean }, stream: boolean | null | undefined): void {
  if (explain && stream === true) throw requestInvalid('query: explain is not available with stream: true', { part: 'query', field: 'explain' })
}
