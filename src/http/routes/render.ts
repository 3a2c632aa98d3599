import { requestInvalid } from '../../base/errors.ts'
import { Type } from '../../schema/builder.ts'
import { type Bundle, BundleSchema } from '../../service/recordings.ts'
import { type Explanation, promptOrMessages } from '../../service/rendered-messages.ts'
import type { RenderResult, RenderRequest } from '../../service/render-prompt.ts'
import type { JsonObject } from '../../base/json.ts'
import type { Service } from '../../service.ts'
import type { App } from '../app.ts'
import { oneOf, PromptId, RenderedMessageReply, RENDERS, CHATS, upstreamRefusals } from '../schemas.ts'
import {
  ExplainQuery, ChoiceQuery, chooseToRender, givenVariables, RenderBody, RevisionQuery, setToolDefaults, explainedCompletionReply, refuseExplainedStream,
  ChatBody
} from '../prompt-request.ts'
import type { ToolStep } from '../../service/chat/model-tool-calls.ts'
import type { ChatRequest } from '../../service/chat/prepare-chat.ts'
import { passedOn } from '../validation.ts'
import { abortWhenGone, sendReply, sendEvents, withMember } from '../send-reply.ts'

const RenderQuery = Type.Object({
  ...ExplainQuery.properties,
  ...RevisionQuery.properties,
  ...ChoiceQuery.properties,
  tools: Type.Optional(oneOf(['live', 'record', 'stub'], {
    description: 'live (default): tools are called; record: the reply has a bundle too, to render the same again; stub: every tool gives its default and none is called; not with a bundle in the body'
  }))
})

const RenderReply = Type.Object({
  rendered_prompt: Type.Union([Type.String(), Type.Array(RenderedMessageReply)],
    { description: 'A text for a prompt with one text and no `messages` given, else a list of messages' }),
  status: Type.Literal('success'),
  bundle: Type.Optional(BundleSchema),
  explain: Type.Optional(Type.Ref('Explanation'))
})

const RENDER_PATHS = [
  { url: '/api/render/prompts/:id', operationId: 'renderPrompt', summary: 'Render a prompt', tag: 'Prompts' },
  { url: '/api/prompts/:id/render', operationId: 'renderPromptAlias', summary: 'Render a prompt (same as /api/render/prompts/{id})', tag: 'Other paths' }
]

export function renderRoutes (app: App, { renderPrompt, recordings, choosePrompt }: Pick<Service, 'renderPrompt' | 'recordings' | 'choosePrompt'>): void {
  const withTools = { live: renderPrompt, record: recordings.record, stub: recordings.stub }

  for (const { url, operationId, summary, tag } of RENDER_PATHS) {
    app.post(url, {
      config: {
        role: 'render',
        seeksPrompt: true,
        fails: [...RENDERS, 'BUNDLE_INVALID', 'BUNDLE_STALE', 'BUNDLE_INCOMPLETE'],
        headers: ['x-prompt-revision', 'x-prompt-version', 'x-prompt-label', 'x-tool-defaults']
      },
      schema: { tags: [tag], operationId, summary, params: PromptId, querystring: RenderQuery, body: RenderBody, response: { 200: RenderReply } }
    }, async (request, reply) => {
      const { generation, caller, params, body, query, activity, arrivedAt, id: requestId } = request
      const variables = givenVariables(body)
      let explanation: Explanation | undefined
      const onExplained = query.explain ? (found: Explanation) => { explanation = found } : undefined
      const chosen = await chooseToRender(choosePrompt, request, reply, params.id, query)
      // Not spread: copying takes V8 half the time of a small render.
      const asked: RenderRequest = {
        generation,
        caller,
        id: params.id,
        chosen,
        revision: query.revision,
        variables: variables ?? {},
        history: (body?.messages ?? undefined) as readonly JsonObject[] | undefined,
        requestId,
        activity,
        arrivedAt,
        onExplained,
        onToolDefaults: setToolDefaults(reply)
      }
      if (body?.bundle == null) return describe(await withTools[query.tools ?? 'live'](asked), explanation)
      if (query.tools !== undefined) throw requestInvalid('body: a bundle is rendered without tools; leave out ?tools=', { part: 'body' })
      return describe(await recordings.replay({ ...asked, variables, bundle: body.bundle }), explanation)
    })
  }
}

function describe ({ prompt, messages, bundle }: RenderResult & { readonly bundle?: Bundle }, explain: Explanation | undefined) {
  const rendered = promptOrMessages(prompt, messages)
  return { rendered_prompt: rendered, status: 'success' as const, bundle, explain }
}

const ChatQuery = Type.Object({
  ...ExplainQuery.properties,
  ...RevisionQuery.properties,
  ...ChoiceQuery.properties,
  tools: Type.Optional(oneOf(['live'], { description: 'Tools are called; render the prompt to have them recorded or stubbed' }))
})

const OWN_FIELDS: ReadonlySet<string> = new Set(['variables', 'args', 'messages'])

const CHAT_PATHS = [
  { url: '/api/chat/prompts/:id', operationId: 'chatWithPrompt', summary: 'Ask the model with a prompt', tag: 'Prompts' },
  { url: '/api/prompts/:id/chat', operationId: 'chatWithPromptAlias', summary: 'Ask the model with a prompt (same as /api/chat/prompts/{id})', tag: 'Other paths' }
]

export function chatRoutes (app: App, { chatWithPrompt, choosePrompt }: Pick<Service, 'chatWithPrompt' | 'choosePrompt'>): void {
  for (const { url, operationId, summary, tag } of CHAT_PATHS) {
    app.post(url, {
      config: { role: 'chat', seeksPrompt: true, fails: CHATS, headers: ['x-prompt-revision', 'x-prompt-version', 'x-prompt-label', 'x-tool-defaults'] },
      schema: { tags: [tag], operationId, summary, description: 'With `stream: true` in the body, `explain` must not be true: a stream has no place for an explanation.', params: PromptId, querystring: ChatQuery, body: ChatBody, response: { 200: explainedCompletionReply, ...upstreamRefusals } }
    }, async (request, reply) => {
      const body = request.body ?? {}
      refuseExplainedStream(request.query, body.stream)
      const fields = passedOn(body, OWN_FIELDS)
      const chosen = await chooseToRender(choosePrompt, request, reply, request.params.id, request.query)
      let explanation: Explanation | undefined
      const toolSteps: ToolStep[] = []
      const chat: ChatRequest = {
        generation: request.generation,
        caller: request.caller,
        id: request.params.id,
        chosen,
        revision: request.query.revision,
        variables: givenVariables(request.body) ?? {},
        body: fields,
        fields,
        history: (body.messages ?? []) as readonly JsonObject[],
        requestId: request.id,
        activity: request.activity,
        arrivedAt: request.arrivedAt,
        signal: abortWhenGone(reply),
        onExplained: request.query.explain ? found => { explanation = found } : undefined,
        onToolDefaults: setToolDefaults(reply),
        onToolStep: step => toolSteps.push(step)
      }
      if (body.stream === true) return sendEvents(reply, await chatWithPrompt.stream(chat))
      const completion = await chatWithPrompt.complete(chat)
      return sendReply(reply, explanation === undefined ? completion : withMember(completion, 'explain', { ...explanation, toolSteps }))
    })
  }
}
