import { Type } from '../../../base/schema-builder.ts'
import { nullable } from '../../base/schemas.ts'
import { CompletionBody } from '../openai-body.ts'

const { prompt, variables, fallbacks } = CompletionBody.properties

const items = (options: object) => nullable(Type.Array(Type.Object({}, { additionalProperties: true }), { maxItems: 1000 }), options)

/** The schema of a request of OpenAI's Responses API, which may name a registered prompt. */
export const ResponsesBody = Type.Object({
  model: CompletionBody.properties.model,
  input: Type.Optional(Type.Union([Type.String(), Type.Array(Type.Object({}, { additionalProperties: true }), { maxItems: 1000 }), Type.Null()], { description: 'A text, or messages, calls of functions and what they gave' })),
  instructions: nullable(Type.String(), { description: 'A system message in front; not with a registered prompt, which has its own' }),
  stream: nullable(Type.Boolean()),
  tools: items({ description: 'Functions; tools of OpenAI\'s own are refused' }),
  text: nullable(Type.Object({}, { additionalProperties: true }), { description: 'The `format` of the answer' }),
  reasoning: nullable(Type.Object({}, { additionalProperties: true })),
  max_output_tokens: nullable(Type.Integer()),
  store: nullable(Type.Boolean(), { description: 'false or left out: no response is stored' }),
  prompt,
  variables,
  fallbacks
}, { additionalProperties: true, examples: [{ model: 'prompt:greet', variables: { name: 'Ada' } }] })

/** The schema of a reply of the Responses API, whole or as a stream. */
export const responsesReply = {
  description: 'A response or, with `stream: true`, its events',
  content: {
    'application/json': {
      schema: Type.Object({
        id: Type.String(),
        object: Type.Literal('response'),
        status: Type.String({ description: 'completed or incomplete' }),
        model: Type.String(),
        output: Type.Array(Type.Object({ type: Type.String({ description: 'message or function_call' }) }, { additionalProperties: true }))
      }, { additionalProperties: true })
    },
    'text/event-stream': { schema: Type.String({ description: 'Ends with `response.completed` or `response.incomplete`, or with one `error`' }) }
  }
}
