import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv'
import { type ServiceError } from '../errors.ts'
import { type App } from './app-types.ts'
import { violationOf } from './plain-violations.ts'

/**
 * Checks requests against their schemas: bodies exactly as they are written, query strings and path parameters, which
 * are all text, with their types converted. Nothing is removed from a body, since unknown fields go to the model. A schema
 * is compiled when its first request comes: compiling all of them would take a tenth of the start.
 */
export function compileValidators (app: App): void {
  const exact = new Ajv({ validateSchema: false, strict: false, verbose: true })
  const converting = new Ajv({ validateSchema: false, strict: false, coerceTypes: true, useDefaults: true, verbose: true })
  app.setValidatorCompiler(({ schema, httpPart = 'body' }) => compileLater(httpPart, httpPart === 'body' ? exact : converting, schema as object))
}

function compileLater (part: string, ajv: Ajv, schema: object): (value: unknown) => true | { readonly error: ServiceError } {
  let validate: ValidateFunction | undefined
  return value => {
    validate ??= ajv.compile(schema)
    return validate(value) ? true : { error: violationOf(part, validate.errors as ErrorObject[]) }
  }
}
