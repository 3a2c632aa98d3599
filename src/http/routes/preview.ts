import { type Json, type JsonObject, stringifyJson } from '../../base/json.ts'
import { Type } from '../../schema/builder.ts'
import { BundleSchema } from '../../service/bundle.ts'
import { type PreviewPrompt } from '../../service/preview-prompt.ts'
import { type App } from '../app.ts'
import { ExplanationReply, explainedMessage, Span } from '../explanation.ts'
import { messages, variables } from '../prompt-request.ts'
import { nullable, oneOf, PlacedDiagnosticReply, PromptId, RenderedMessageReply } from '../schemas.ts'
import { Needs } from './prompts.ts'

const stretch = (description: string) => Type.Object({
  from: Type.Integer({ minimum: 0 }),
  to: Type.Integer({ minimum: 0, description: 'Behind its last one' })
}, { description: `${description}, in UTF-16 units from its beginning` })

const PreviewBody = Type.Object({
  prompt: Type.Union([Type.Object({}, { additionalProperties: true }), Type.Array(Type.Unknown()), Type.String()], { description: 'As it would be published: an object, a list of messages, or a text' }),
  variables,
  messages,
  tools: Type.Optional(oneOf(['known', 'live'], { description: 'known (default): a call that `known` has is answered from it, any other with its tool\'s default, and no tool is called; live: tools are called, and the reply has a bundle' })),
  known: nullable(BundleSchema, { description: 'What an earlier preview with live tools, or a render with `?tools=record`, gave; only its calls are read' })
}, { additionalProperties: false, examples: [{ prompt: { userPrompt: 'Hello {{variables.name}}!' }, variables: { name: 'Ada' } }] })

const MistakeReply = Type.Object({
  ...PlacedDiagnosticReply.properties,
  code: Type.String({ description: 'Of a diagnostic, or of the error that a render would answer with: VARIABLE_MISSING, RENDER_BUDGET' }),
  in: Type.Optional(Type.String({ description: 'The partial whose text is meant; left out for the prompt\'s own' })),
  path: Type.Optional(Type.String({ description: 'The variable that is meant', examples: ['variables.name'] })),
  near: Type.Optional(Type.String({ description: 'What is there and may be meant by it' })),
  field: Type.Optional(Type.String({ description: 'The part of the prompt that is meant, as a JSON pointer, where it is no text of a message', examples: ['/parameters'] }))
})

const PreviewReply = Type.Object({
  id: Type.String(),
  diagnostics: Type.Array(MistakeReply, { description: 'What is wrong with the prompt or its variables, then what else was noticed. With an error among them nothing was rendered' }),
  needs: Type.Optional(Type.Object(Needs.properties, { description: 'As `GET /api/prompts/{id}/needs`; left out where the text cannot be read' })),
  rendered_prompt: Type.Optional(Type.Union([
    Type.String(),
    Type.Array(RenderedMessageReply)
  ],
  { description: 'A text for a prompt with one text and no `messages` given, else a list of messages' })),
  explain: Type.Optional(Type.Object({
    ...ExplanationReply.properties,
    messages: Type.Array(Type.Object({
      ...explainedMessage,
      spans: Type.Array(Type.Object({
        ...Span.properties,
        output: stretch('Where it stands in the rendered message'),
        source: Type.Optional(stretch('What wrote it in the message\'s template, a tag with its braces or a piece of text; left out for what a partial wrote'))
      }), { description: 'Joined, their texts are the message\'s content' })
    }), { description: 'In the order of the prompt\'s messages' })
  }, { description: 'As `?explain=true` gives it, with the places of each span' })),
  bundle: Type.Optional(BundleSchema)
})

export function previewRoutes (app: App, { previewPrompt }: { readonly previewPrompt: PreviewPrompt }): void {
  app.post('/api/prompts/:id/preview', {
    config: { role: 'write', fails: ['ENTRY_FORBIDDEN', 'LINT_BUSY'] },
    schema: {
      tags: ['Publishing'],
      operationId: 'previewPrompt',
      summary: 'Try a prompt without storing it',
      description: 'For whoever may publish it. It is checked as publishing does, linked with what is registered now, and rendered within the same bounds. A prompt with mistakes answers 200, too.',
      params: PromptId,
      body: PreviewBody,
      response: { 200: PreviewReply }
    }
  }, async (request, reply) => {
    const { generation, caller, params, body, activity, id: requestId } = request
    const { prompt, tools = 'known', known } = body
    const { id, mistakes, needs, rendered, explanation, bundle } = await previewPrompt({
      generation,
      caller,
      id: params.id,
      text: stringifyJson(prompt as Json),
      variables: (body.variables ?? {}) as JsonObject,
      history: (body.messages ?? undefined) as readonly JsonObject[] | undefined,
      tools,
      known: known ?? undefined,
      requestId,
      activity,
      isGone: () => reply.raw.destroyed
    })
    request.log.info({ action: 'preview', kind: 'templates', id, by: caller.name, tools, outcome: rendered === undefined ? 'mistakes' : 'rendered' }, 'audit')
    return {
      id,
      diagnostics: mistakes,
      needs,
      rendered_prompt: rendered,
      explain: explanation,
      bundle
    }
  })
}
