import { Ajv2020 } from 'ajv/dist/2020.js'
import { fixedValidators, readPublishedSchema } from '../../base/published-schema.ts'

// Tests check the schemas, and compiling the metaschema takes a twentieth of a start; optimising code costs a quarter of a checker.
const ajv = new Ajv2020({
  validateSchema: false,
  allErrors: true,
  verbose: true,
  strict: false,
  ownProperties: true,
  code: { optimize: false, source: true, esm: true }
})
for (const name of ['prompt', 'extension', 'agent', 'skill', 'plan', 'tests']) ajv.addSchema(readPublishedSchema<object>(name))

/** The build replaces this module by generated code. */
export const validators = fixedValidators(ajv, {
  prompt: 'https://ai-prompt-shell.dev/jsonschema/prompt.json#/$defs/prompt',
  extension: 'https://ai-prompt-shell.dev/jsonschema/extension.json',
  agent: 'https://ai-prompt-shell.dev/jsonschema/agent.json',
  skill: 'https://ai-prompt-shell.dev/jsonschema/skill.json',
  plan: 'https://ai-prompt-shell.dev/jsonschema/plan.json',
  tests: 'https://ai-prompt-shell.dev/jsonschema/tests.json'
})
