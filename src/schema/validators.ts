import { Ajv2020 } from 'ajv/dist/2020.js'
import draft07 from 'ajv/dist/refs/json-schema-draft-07.json' with { type: 'json' }
import { fixedValidators, readPublishedSchema } from './published.ts'

// Tests check the schemas, and compiling the metaschema takes a twentieth of a start; optimising code costs a quarter of a checker.
const ajv = new Ajv2020({
  validateSchema: false,
  validateFormats: false,
  allErrors: true,
  verbose: true,
  strict: false,
  ownProperties: true,
  code: { optimize: false, source: true, esm: true }
})
// Equal values are allowed in an enum, as since draft 2019-09: ajv could not tell integers beyond 2^53 apart.
ajv.addMetaSchema({ ...draft07, properties: { ...draft07.properties, enum: { type: 'array' } } })
for (const name of ['prompt', 'extension', 'agent', 'skill', 'plan', 'tests']) ajv.addSchema(readPublishedSchema<object>(name))

/** The build replaces this module by generated code. */
export const validators = fixedValidators(ajv, {
  prompt: 'https://ai-prompt-shell.dev/jsonschema/prompt.json#/$defs/prompt',
  extension: 'https://ai-prompt-shell.dev/jsonschema/extension.json',
  agent: 'https://ai-prompt-shell.dev/jsonschema/agent.json',
  skill: 'https://ai-prompt-shell.dev/jsonschema/skill.json',
  plan: 'https://ai-prompt-shell.dev/jsonschema/plan.json',
  tests: 'https://ai-prompt-shell.dev/jsonschema/tests.json',
  draft07: 'http://json-schema.org/draft-07/schema',
  draft2020: 'https://json-schema.org/draft/2020-12/schema'
})
