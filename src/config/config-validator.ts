import { Ajv } from 'ajv'
import { fixedValidators } from '../schema/published.ts'
import { configSchema } from './config-schema.ts'

// The schema is the project's own, so it need not be checked against the metaschema at every start.
const ajv = new Ajv({
  allErrors: true,
  coerceTypes: true,
  useDefaults: true,
  removeAdditional: 'all',
  meta: false,
  validateSchema: false,
  keywords: ['fromFolder'],
  code: { optimize: false, source: true, esm: true }
})
ajv.addSchema(configSchema, 'config')

/** The build replaces this module by code that was generated beforehand. */
export const validators = fixedValidators(ajv, { config: 'config' })
