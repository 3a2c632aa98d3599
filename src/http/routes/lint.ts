import { type Json, type JsonObject, stringifyJson } from '../../base/json.ts'
import { placed } from '../../registry/diagnostic-table.ts'
import { locate } from '../../registry/diagnostic.ts'
import { isDefinitionKind, type Kind } from '../../registry/kinds/entry-kind.ts'
import { promptKind } from '../../registry/kinds/prompt-kind.ts'
import { Type } from '../../schema/builder.ts'
import { type LintCandidate, type LintRequest } from '../../service/lint/lint-candidate.ts'
import { type App } from '../app.ts'
import { type KindRoute, withArticle } from './entries.ts'
import { oneOf, PlacedDiagnosticReply } from '../schemas.ts'

type Linted = Pick<KindRoute, 'kind' | 'body'> & { readonly field: string }

const LintReply = Type.Object({ diagnostics: Type.Array(PlacedDiagnosticReply) })

export function lintRoutes (app: App, kindRoutes: readonly KindRoute[], { lintCandidate }: { lintCandidate: LintCandidate }): void {
  const linted = kindRoutes.flatMap(({ kind, body, lintedAs }) => lintedAs === undefined ? [] : [{ kind, body, field: lintedAs }])
  app.post('/api/lint', {
    config: { role: 'read', fails: ['LINT_BUSY'], keepsText: true },
    schema: { tags: ['Registry'], operationId: 'lint', summary: 'Check what may be registered', description: `Exactly one of ${linted.map(({ field }) => `\`${field}\``).join(', ')} and \`template\`. It is parsed as a registration is and linked with what is registered now; nothing is stored.`, body: bodyOf(linted), response: { 200: LintReply } }
  }, async request => {
    const body = request.body as JsonObject
    const whole = linted.find(({ field }) => body[field] !== undefined)
    const diagnostics = await lintCandidate(request.generation, readCandidate(body, whole), request.caller)
    return { diagnostics: locate(diagnostics, request.bodyText ?? '', whole === undefined ? [] : [whole.field]).map(placed) }
  })
}

function bodyOf (linted: readonly Linted[]) {
  const entries = linted.map(({ kind, body: entry, field }) => {
    return [field, Type.Optional(Type.Unsafe({ ...entry, description: describeCandidate(kind, entry) }))] as const
  })
  return Type.Object({
    ...Object.fromEntries(entries),
    template: Type.Optional(Type.String({ description: 'The text of a template alone' })),
    syntax: Type.Optional(oneOf(['go', 'handlebars'], { description: 'Of `template`; found out from the text when it is not given' })),
    id: Type.Optional(Type.String({ minLength: 1, maxLength: 512, description: 'The id that the prompt would have, by which it finds its neighbours as partials' }))
  }, {
    additionalProperties: false,
    oneOf: [...linted.map(({ field }) => field), 'template'].map(name => ({ required: [name] })),
    // A whole prompt names its syntax itself.
    dependentRequired: { syntax: ['template'] },
    examples: [{ template: 'Say hello to {{variables.name}}.' }]
  })
}

function describeCandidate (kind: Kind, { description = '' }: { readonly description?: string }): string {
  const words = `${withArticle(kind)} ${description.slice(0, 1).toLowerCase()}${description.slice(1)}`
  return `${words.slice(0, 1).toUpperCase()}${words.slice(1)}`
}

function readCandidate (body: JsonObject, whole: Linted | undefined): LintRequest {
  const { template, syntax } = body
  const id = body['id'] as string | undefined
  if (whole === undefined) {
    return {
      kind: promptKind.key,
      id,
      text: stringifyJson({ userPrompt: template as string, syntax })
    }
  }
  const value = body[whole.field] as Json
  // A text of an agent, skill or plan profile is stored unquoted, like a file; that of a prompt as a JSON string.
  return { kind: whole.kind.key, id, text: typeof value === 'string' && isDefinitionKind(whole.kind) ? value : stringifyJson(value) }
}
