import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv'
import { type App } from './app-types.ts'

/**
 * Checks requests against their schemas: bodies exactly as they are written, query strings and path parameters, which
 * are all text, with their types converted. Nothing is removed from a body, since unknown fields go to the model. A schema
 * is compiled when its first request comes: compiling all of them would take a tenth of the start.
 */
export function compileValidators (app: App): void {
  const exact = new Ajv({ validateSchema: false, strict: false })
  const converting = new Ajv({ validateSchema: false, strict: false, coerceTypes: true, useDefaults: true })
  app.setValidatorCompiler(({ schema, httpPart }) => compileLater(httpPart === 'body' ? exact : converting, schema as object))
}

/** Fastify reads what is wrong from the result, since a function that is not there yet has no `errors`. */
function compileLater (ajv: Ajv, schema: object): (value: unknown) => true | { readonly error: ErrorObject[] } {
  let validate: ValidateFunction | undefined
  return value => {
    validate ??= ajv.compile(schema)
    return validate(value) ? true : { error: validate.errors as ErrorObject[] }
  }
}
