import { Ajv } from 'ajv'
import { fixedValidators } from '../base/fixed-validators.ts'
import { configSchema } from './config-schema.ts'

// The schema is the project's own: the compiler takes it as it is, and does not hold it to the metaschema at every start.
const ajv = new Ajv({
  allErrors: true,
  coerceTypes: true,
  useDefaults: true,
  removeAdditional: 'all',
  meta: false,
  validateSchema: false,
  code: { optimize: false, source: true, esm: true }
})
ajv.addSchema(configSchema, 'config')

/** Checks the configuration. The build puts code that is made beforehand in this module's place. */
export const validators = fixedValidators(ajv, { config: 'config' })
