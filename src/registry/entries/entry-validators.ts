import { Ajv2020 } from 'ajv/dist/2020.js'
import { fixedValidators } from '../../base/fixed-validators.ts'
import { readPublishedSchema } from '../../base/published-schema.ts'

// The schemas are the project's own, and its tests hold them to the metaschema: compiling that takes a twentieth of the start.
// Optimising the code of a checker is a quarter of what it costs to make, and V8 does so where it matters.
const ajv = new Ajv2020({
  validateSchema: false,
  allErrors: true,
  verbose: true,
  strict: false,
  ownProperties: true,
  code: { optimize: false, source: true, esm: true }
})
for (const name of ['prompt', 'extension', 'agent', 'skill', 'plan', 'tests']) ajv.addSchema(readPublishedSchema<object>(name))

/** Check what is registered. The build puts code that is made beforehand in this module's place. */
export const validators = fixedValidators(ajv, {
  prompt: 'https://ai-prompt-shell.dev/jsonschema/prompt.json#/$defs/prompt',
  extension: 'https://ai-prompt-shell.dev/jsonschema/extension.json',
  agent: 'https://ai-prompt-shell.dev/jsonschema/agent.json',
  skill: 'https://ai-prompt-shell.dev/jsonschema/skill.json',
  plan: 'https://ai-prompt-shell.dev/jsonschema/plan.json',
  tests: 'https://ai-prompt-shell.dev/jsonschema/tests.json'
})
