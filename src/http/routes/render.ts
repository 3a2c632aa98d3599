import { Type } from 'typebox'
import { type Explanation } from '../../service/explanation.ts'
import { type RenderPrompt } from '../../service/render-prompt.ts'
import { type App } from '../app-types.ts'
import { ExplainQuery } from '../explanation-reply.ts'
import { VariablesBody, variablesOf } from '../prompt-body.ts'
import { IdParameters, replies } from '../schemas.ts'

const RenderReply = Type.Object({
  rendered_prompt: Type.Union([Type.String(), Type.Array(Type.Object({ role: Type.String(), content: Type.String() }, { additionalProperties: true }))],
    { description: 'A text for a prompt with one text, a message list for a prompt with messages' }),
  status: Type.Literal('success'),
  explain: Type.Optional(Type.Ref('Explanation'))
})

const PATHS = [
  { url: '/api/render/prompts/:id', operationId: 'renderPrompt', summary: 'Render a prompt' },
  { url: '/api/prompts/:id/render', operationId: 'renderPromptAlias', summary: 'Render a prompt (other path, same as /api/render/prompts/{id})' }
]

/** A prompt and variables become text (requirement C-09). */
export function renderRoutes (app: App, { renderPrompt }: { renderPrompt: RenderPrompt }): void {
  for (const { url, operationId, summary } of PATHS) {
    app.post(url, {
      schema: { tags: ['Prompts'], operationId, summary, params: IdParameters, querystring: ExplainQuery, body: VariablesBody, response: replies(RenderReply, 400, 404, 413, 415, 500, 503) }
    }, async request => {
      let explanation: Explanation | undefined
      const { prompt, messages } = await renderPrompt({
        generation: request.generation,
        id: request.params.id,
        variables: variablesOf(request.body),
        requestId: request.id,
        onExplained: request.query.explain ? found => { explanation = found } : undefined
      })
      const rendered = prompt.entry.definition.form === 'text' ? messages[0]?.content : messages
      return { rendered_prompt: rendered, status: 'success', ...(explanation === undefined ? {} : { explain: explanation }) }
    })
  }
}
