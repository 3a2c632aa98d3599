import { type ChatRequest, type ChatWithPrompt } from '../../service/chat-with-prompt.ts'
import { type JsonObject } from '../../template/value.ts'
import { type App } from '../app-types.ts'
import { abortWhenGone } from '../client-gone.ts'
import { ChatBody, givenVariables } from '../prompt-body.ts'
import { completionReply, IdParameters, replies } from '../schemas.ts'
import { sendReply, sendStream } from '../send-answer.ts'

const PATHS = [
  { url: '/api/chat/prompts/:id', operationId: 'chatWithPrompt', summary: 'Ask the model with a prompt' },
  { url: '/api/prompts/:id/chat', operationId: 'chatWithPromptAlias', summary: 'Ask the model with a prompt (other path, same as /api/chat/prompts/{id})' }
]

/** A prompt and variables become a model's answer (requirements C-10 to C-12). */
export function chatRoutes (app: App, { chatWithPrompt }: { chatWithPrompt: ChatWithPrompt }): void {
  for (const { url, operationId, summary } of PATHS) {
    app.post(url, {
      schema: { tags: ['Prompts'], operationId, summary, params: IdParameters, body: ChatBody, response: replies(completionReply, 400, 404, 413, 415, 429, 500, 502, 503) }
    }, async (request, reply) => {
      const { variables: _variables, args: _args, messages, ...fields } = request.body ?? {}
      const chat: ChatRequest = {
        generation: request.generation,
        id: request.params.id,
        variables: givenVariables(request.body) ?? {},
        fields: fields as JsonObject,
        conversation: (messages ?? []) as readonly JsonObject[],
        requestId: request.id,
        signal: abortWhenGone(reply)
      }
      return fields.stream === true ? sendStream(reply, await chatWithPrompt.stream(chat)) : sendReply(reply, await chatWithPrompt.complete(chat))
    })
  }
}
