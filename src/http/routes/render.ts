import { requestInvalid } from '../../base/errors.ts'
import { Type } from '../../schema/builder.ts'
import { type Bundle, BundleSchema } from '../../service/bundle.ts'
import { type Explanation, promptOrMessages } from '../../service/rendered-messages.ts'
import { type Recordings } from '../../service/recordings.ts'
import { type ChoosePrompt } from '../../service/choose-prompt.ts'
import { type RenderResult, type RenderPrompt, type RenderRequest } from '../../service/render-prompt.ts'
import { type JsonObject } from '../../base/json.ts'
import { type App } from '../app.ts'
import { oneOf, PromptId, RenderedMessageReply, RENDERS } from '../schemas.ts'
import { ExplainQuery } from '../explanation.ts'
import { ChoiceQuery, chooseToRender, givenVariables, RenderBody, RevisionQuery, setToolDefaults } from '../prompt-request.ts'

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

const PATHS = [
  { url: '/api/render/prompts/:id', operationId: 'renderPrompt', summary: 'Render a prompt', tag: 'Prompts' },
  { url: '/api/prompts/:id/render', operationId: 'renderPromptAlias', summary: 'Render a prompt (same as /api/render/prompts/{id})', tag: 'Other paths' }
]

interface RenderRouteOptions {
  readonly renderPrompt: RenderPrompt
  readonly recordings: Recordings
  readonly choosePrompt: ChoosePrompt
}

export function renderRoutes (app: App, { renderPrompt, recordings, choosePrompt }: RenderRouteOptions): void {
  const withTools = { live: renderPrompt, record: recordings.record, stub: recordings.stub }

  for (const { url, operationId, summary, tag } of PATHS) {
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
