import { type JsonObject, stringifyJson } from '../../base/json.ts'
import { placed } from '../../registry/diagnose/diagnostic-table.ts'
import { locate } from '../../registry/diagnose/locate.ts'
import { agentKind } from '../../registry/kinds/agent/agent-kind.ts'
import { planKind } from '../../registry/kinds/plan/plan-kind.ts'
import { skillKind } from '../../registry/kinds/skill/skill-kind.ts'
import { Type } from '../../base/schema-builder.ts'
import { type LintCandidate, type LintRequest } from '../../service/lint/lint-candidate.ts'
import { type App } from '../app-types.ts'
import { oneOf, PlacedDiagnosticReply, replies } from '../openapi/schemas.ts'

const LintBody = Type.Object({
  prompt: Type.Optional(Type.Union([Type.Object({}, { additionalProperties: true }), Type.Array(Type.Unknown()), Type.String()], { description: 'A prompt as it would be registered: an object, a list of messages, or a text' })),
  extension: Type.Optional(Type.Object({}, { additionalProperties: true, description: 'An extension as it would be registered' })),
  agent: Type.Optional(Type.Object({}, { additionalProperties: true, description: 'An agent as it would be registered' })),
  skill: Type.Optional(Type.Union([Type.Object({}, { additionalProperties: true }), Type.String()], { description: 'A skill as it would be registered: an object, or the text of a SKILL.md' })),
  plan: Type.Optional(Type.Object({}, { additionalProperties: true, description: 'A plan profile as it would be registered' })),
  template: Type.Optional(Type.String({ description: 'The text of a template alone' })),
  syntax: Type.Optional(oneOf(['go', 'handlebars'], { description: 'Of `template`; found out from the text when it is not given' })),
  id: Type.Optional(Type.String({ minLength: 1, maxLength: 512, description: 'The id that the prompt would have, by which it finds its neighbours as partials' }))
}, {
  additionalProperties: false,
  oneOf: ['prompt', 'extension', 'agent', 'skill', 'plan', 'template'].map(name => ({ required: [name] })),
  // A prompt has it inside.
  dependentRequired: { syntax: ['template'] },
  examples: [{ template: 'Say hello to {{variables.name}}.' }]
})

/** Fields whose value is a whole entry. */
const LINTED: ReadonlySet<string> = new Set(['prompt', 'extension', 'agent', 'skill', 'plan'])

const DEFINITIONS = Object.entries({ agent: agentKind, skill: skillKind, plan: planKind })

const LintReply = Type.Object({ diagnostics: Type.Array(PlacedDiagnosticReply) })

/** What the registry would say of a registration, without registering it. */
export function lintRoutes (app: App, { lintCandidate }: { lintCandidate: LintCandidate }): void {
  app.post('/api/lint', {
    config: { role: 'read', keepsText: true },
    schema: { tags: ['Registry'], operationId: 'lint', summary: 'Check what may be registered', description: 'Exactly one of `prompt`, `extension`, `agent`, `skill`, `plan` and `template`. It is parsed as a registration is and linked with what is registered now; nothing is stored.', body: LintBody, response: replies(LintReply, 400, 413, 415, 503) }
  }, async request => {
    const body = request.body as JsonObject
    const diagnostics = await lintCandidate(request.generation, readCandidate(body), request.caller)
    const [field] = Object.keys(body).filter(name => LINTED.has(name))
    return { diagnostics: locate(diagnostics, request.bodyText ?? '', field === undefined ? [] : [field]).map(placed) }
  })
}

function readCandidate (body: JsonObject): LintRequest {
  const { prompt, extension, template, syntax } = body
  const id = body['id'] as string | undefined
  if (extension !== undefined) return { kind: 'extension', text: stringifyJson(extension) }
  for (const [field, { key }] of DEFINITIONS) {
    const value = body[field]
    if (value !== undefined) return { kind: key, id, text: typeof value === 'string' ? value : stringifyJson(value) }
  }
  return { kind: 'prompt', id, text: stringifyJson(prompt ?? { userPrompt: template as string, ...(syntax === undefined ? {} : { syntax }) }) }
}
