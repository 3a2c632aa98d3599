import { requestInvalid } from '../base/errors.ts'
import { Type } from '../schema/builder.ts'
import { completionReply, type MediaReply, oneOf, partPlace } from './schemas.ts'

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
