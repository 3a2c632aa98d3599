import { type TSchema, Type } from '../../base/schema-builder.ts'
import { type Kind } from '../../registry/kinds/kind.ts'
import { agentKind } from '../../registry/kinds/agent/agent-kind.ts'
import { environKind } from '../../registry/kinds/environ/environ-kind.ts'
import { extensionKind } from '../../registry/kinds/extension/extension-kind.ts'
import { planKind } from '../../registry/kinds/plan/plan-kind.ts'
import { promptKind } from '../../registry/kinds/prompt/prompt-kind.ts'
import { skillKind } from '../../registry/kinds/skill/skill-kind.ts'
import { testsKind } from '../../registry/kinds/tests/tests-kind.ts'
import { toolKind } from '../../registry/kinds/tool/tool-kind.ts'

/** The names that the API uses for one kind of entries, such as prompts or tools. */
export interface KindRoute {
  readonly kind: Kind
  /** The path segment of the kind: `prompts` in `/api/prompts/{id}`. */
  readonly path: string
  /** The path segment after the id, such as `tests` in `/api/prompts/{id}/tests`; `undefined` when the path ends with the id. */
  readonly below?: string
  /** The name of the kind in the ids of the API's operations: `Prompt` in `getPrompt`. */
  readonly name: string
  readonly body: TSchema
  /** The field of a lint request's body that holds the entry to check; left out for kinds that cannot be linted. */
  readonly lintedAs?: string
  /** The entry that the API's description shows as an example of what a client can publish. No file in the repository's folder `examples/` has this id. */
  readonly example: { readonly id: string, readonly value: object, /** The body as plain text, for kinds that may be published so. */ readonly text?: string }
  readonly about: string
}

const registration = (file: string) => Type.Object({}, { additionalProperties: true, description: `As in jsonschema/${file}.json` })

const TEMPLATE = 'Say hello to {{variables.name}}.'

/** The API's names for every kind of entries, in the order in which the API's description lists the kinds. */
export const KIND_ROUTES: readonly KindRoute[] = [
  {
    kind: extensionKind,
    path: 'extensions',
    name: 'Extension',
    body: registration('extension'),
    lintedAs: 'extension',
    example: { id: 'trial', value: { name: 'trial', contributes: { prompts: [{ name: 'welcome', userPrompt: TEMPLATE }] } } },
    about: 'The id is that of the key; prompts are named by the `name` inside.'
  },
  {
    kind: promptKind,
    path: 'prompts',
    name: 'Prompt',
    body: Type.Union([Type.Object({}, { additionalProperties: true }), Type.Array(Type.Unknown()), Type.String()], { description: 'As in jsonschema/prompt.json: an object, a list of messages, or a text' }),
    lintedAs: 'prompt',
    example: { id: 'trial.hello', value: { userPrompt: TEMPLATE }, text: TEMPLATE },
    about: 'As `text/plain` the body is the template itself. A prompt of an extension is changed with its extension; one that is published under its id goes before it.'
  },
  {
    kind: environKind,
    path: 'environs',
    name: 'Environ',
    body: Type.Unknown({ description: 'Any JSON value' }),
    example: { id: 'trial.rules', value: { review: ['readability', 'tests'] }, text: 'readability, tests' },
    about: 'As `text/plain` the body is the value, a text.'
  },
  {
    kind: toolKind,
    path: 'tools',
    name: 'Tool',
    body: registration('tool'),
    example: { id: 'trial.find', value: { url: 'http://127.0.0.1:8090/references/{symbol}', method: 'GET', parameters: [{ name: 'symbol', type: 'string' }], default: {} } },
    about: ''
  },
  {
    kind: agentKind,
    path: 'agents',
    name: 'Agent',
    body: registration('agent'),
    lintedAs: 'agent',
    example: { id: 'trial', value: { mode: 'tools', system: 'Answer briefly.', tools: [] } },
    about: 'A dialogue that runs already keeps the definition that it began with.'
  },
  {
    kind: skillKind,
    path: 'skills/definitions',
    name: 'Skill',
    body: Type.Union([Type.Object({}, { additionalProperties: true }), Type.String()], { description: 'As in jsonschema/skill.json: an object, or the text of a SKILL.md' }),
    lintedAs: 'skill',
    example: { id: 'trial-greet', value: { description: 'Greets.', body: 'Say hello.' }, text: '---\nname: trial-greet\ndescription: Greets.\n---\nSay hello.' },
    about: 'As `text/plain` the body is a SKILL.md.'
  },
  {
    kind: planKind,
    path: 'plans/profiles',
    name: 'Plan',
    body: registration('plan'),
    lintedAs: 'plan',
    example: { id: 'trial-careful', value: { description: 'With tests', checks: ['test'] } },
    about: ''
  },
  {
    kind: testsKind,
    path: 'prompts',
    below: 'tests',
    name: 'PromptTests',
    body: Type.Array(Type.Object({}, { additionalProperties: true }), { description: 'As in jsonschema/tests.json' }),
    example: { id: 'trial.hello', value: [{ description: 'greets by name', vars: { name: 'Ada' }, assert: [{ type: 'contains', value: 'Ada' }] }] },
    about: 'They are of the prompt of that id, and change nothing of it.'
  }
]

/** The noun of a kind with its article, as sentences have it: `an agent`. */
export function withArticle ({ noun }: Pick<Kind, 'noun'>): string {
  return `${/^[aeiou]/.test(noun) ? 'an' : 'a'} ${noun}`
}
