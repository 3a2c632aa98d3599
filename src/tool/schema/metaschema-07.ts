import { Ajv } from 'ajv'
import { fixedValidators } from '../../base/fixed-validators.ts'

const ajv = new Ajv({ strict: false, logger: false, validateFormats: false, code: { source: true, esm: true } })

/** Checks schemas of this draft. The build puts code that is made beforehand in this module's place. */
export const validators = fixedValidators(ajv, { metaschema: 'http://json-schema.org/draft-07/schema' })
