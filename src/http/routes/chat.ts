import { Type } from '../../schema/builder.ts'
import { type ChatWithPrompt } from '../../service/chat/chat-with-prompt.ts'
import { type ChoosePrompt } from '../../service/choose-prompt.ts'
import { type Explanation } from '../../service/rendered-messages.ts'
import { type ToolStep } from '../../service/chat/model-tool-calls.ts'
import { type ChatRequest } from '../../service/chat/prepare-chat.ts'
import { type JsonObject } from '../../base/json.ts'
import { type App } from '../app.ts'
import { CHATS, oneOf, PromptId, upstreamRefusals } from '../schemas.ts'
import { passedOn } from '../validation.ts'
import { abortWhenGone, sendReply, sendStream, withMember } from '../send-reply.ts'
import { ExplainQuery, explainedCompletionReply, refuseExplainedStream } from '../explanation.ts'
import { ChatBody, ChoiceQuery, chooseToRender, givenVariables, RevisionQuery, setToolDefaults } from '../prompt-request.ts'

const ChatQuery = Type.Object({
  ...ExplainQuery.properties,
  ...RevisionQuery.properties,
  ...ChoiceQuery.properties,
  tools: Type.Optional(oneOf(['live'], { description: 'Tools are called; render the prompt to have them recorded or stubbed' }))
})

const OWN: ReadonlySet<string> = new Set(['variables', 'args', 'messages'])

const PATHS = [
  { url: '/api/chat/prompts/:id', operationId: 'chatWithPrompt', summary: 'Ask the model with a prompt', tag: 'Prompts' },
  { url: '/api/prompts/:id/chat', operationId: 'chatWithPromptAlias', summary: 'Ask the model with a prompt (same as /api/chat/prompts/{id})', tag: 'Other paths' }
]

export function chatRoutes (app: App, { chatWithPrompt, choosePrompt }: { chatWithPrompt: ChatWithPrompt, choosePrompt: ChoosePrompt }): void {
  for (const { url, operationId, summary, tag } of PATHS) {
    app.post(url, {
      config: { role: 'chat', seeksPrompt: true, fails: CHATS, headers: ['x-prompt-revision', 'x-prompt-version', 'x-prompt-label', 'x-tool-defaults'] },
      schema: { tags: [tag], operationId, summary, description: 'With `stream: true` in the body, `explain` must not be true: a stream has no place for an explanation.', params: PromptId, querystring: ChatQuery, body: ChatBody, response: { 200: explainedCompletionReply, ...upstreamRefusals } }
    }, async (request, reply) => {
      const body = request.body ?? {}
      refuseExplainedStream(request.query, body.stream)
      const fields = passedOn(body, OWN)
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
      if (body.stream === true) return sendStream(reply, await chatWithPrompt.stream(chat))
      const completion = await chatWithPrompt.complete(chat)
      return sendReply(reply, explanation === undefined ? completion : withMember(completion, 'explain', { ...explanation, toolSteps }))
    })
  }
}
