import { Ajv } from 'ajv'
import { type App } from './app-types.ts'

/**
 * Checks requests against their schemas: bodies exactly as they are written, query strings and path parameters, which
 * are all text, with their types converted. Nothing is removed from a body, since unknown fields go to the model.
 */
export function compileValidators (app: App): void {
  const exact = new Ajv({ allErrors: false, strict: false })
  const converting = new Ajv({ allErrors: false, strict: false, coerceTypes: true, useDefaults: true })
  app.setValidatorCompiler(({ schema, httpPart }) => (httpPart === 'body' ? exact : converting).compile(schema as object))
}
