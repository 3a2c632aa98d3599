import { Ajv } from 'ajv'
import { fixedValidators } from '../../base/published-schema.ts'

const ajv = new Ajv({ strict: false, logger: false, validateFormats: false, code: { source: true, esm: true } })

/** The build replaces this module by code that is generated beforehand. */
export const validators = fixedValidators(ajv, { metaschema: 'http://json-schema.org/draft-07/schema' })
