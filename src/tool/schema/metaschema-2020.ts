import { Ajv2020 } from 'ajv/dist/2020.js'
import { fixedValidators } from '../../base/published-schema.ts'

const ajv = new Ajv2020({ strict: false, logger: false, validateFormats: false, code: { source: true, esm: true } })

/** The build replaces this module by code that is generated beforehand. */
export const validators = fixedValidators(ajv, { metaschema: 'https://json-schema.org/draft/2020-12/schema' })
