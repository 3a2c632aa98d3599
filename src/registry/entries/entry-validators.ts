import { Ajv2020 } from 'ajv/dist/2020.js'
import { fixedValidators, readPublishedSchema } from '../../base/published-schema.ts'

// The schemas are the project's own, and its tests check them against the metaschema. Compiling the metaschema would take a twentieth of the time of
// a start. Code optimisation would be a quarter of the cost of making a checker, and V8 optimises hot code anyway.
const ajv = new Ajv2020({
  validateSchema: false,
  allErrors: true,
  verbose: true,
  strict: false,
  ownProperties: true,
  code: { optimize: false, source: true, esm: true }
})
for (const name of ['prompt', 'extension', 'agent', 'skill', 'plan', 'tests']) ajv.addSchema(readPublishedSchema<object>(name))

/** The functions that check registered entries against their JSON Schemas. The build replaces this module by code that was generated beforehand. */
export const validators = fixedValidators(ajv, {
  prompt: 'https://ai-prompt-shell.dev/jsonschema/prompt.json#/$defs/prompt',
  extension: 'https://ai-prompt-shell.dev/jsonschema/extension.json',
  agent: 'https://ai-prompt-shell.dev/jsonschema/agent.json',
  skill: 'https://ai-prompt-shell.dev/jsonschema/skill.json',
  plan: 'https://ai-prompt-shell.dev/jsonschema/plan.json',
  tests: 'https://ai-prompt-shell.dev/jsonschema/tests.json'
})
