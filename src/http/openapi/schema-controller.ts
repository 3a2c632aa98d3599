import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js'
import { type FastifySchemaCompiler, type FastifyServerOptions } from 'fastify'
import { type ServiceError } from '../../base/errors.ts'
import { holdsBigint, type Json, stringifyJson } from '../../base/json.ts'
import { type Static, type TSchema } from '../../base/schema-builder.ts'
import { toNumbers } from '../../tool/rest/exact-numbers.ts'
import { closed } from '../base/closed-requests.ts'
import { violationOf } from './plain-violations.ts'

type SchemaController = NonNullable<FastifyServerOptions['schemaController']>

/**
 * Makes the compilers with which a server checks requests and writes replies. They must be passed as an option when the server is made; if
 * they were set later, the server would already have loaded Fastify's own compilers, which are 48 modules.
 */
export function schemaController (): SchemaController {
  // One serialiser for all replies: registrations contain integers (bigint) that JSON.stringify alone refuses.
  const compilersFactory = { buildValidator: () => compile, buildSerializer: () => () => stringifyJson }
  // The cast is needed: by Fastify's documentation compilers get more arguments than Fastify's type declares.
  return { compilersFactory } as unknown as SchemaController
}

/** Checks the bodies of requests, and frames. It converts no value. */
const exact = new Ajv2020({ validateSchema: false, strict: false, verbose: true })

/** Checks query strings and path parameters, whose texts are converted to the types of their schemas. */
const converting = new Ajv2020({ validateSchema: false, strict: false, coerceTypes: true, useDefaults: true, verbose: true })

/**
 * Checks requests against their schemas. A schema is compiled at its first request: compiling all schemas would take a tenth
 * of the start. The servers of a process share the compiled schemas.
 */
const compile: FastifySchemaCompiler<object> = ({ schema, httpPart = 'body' }) => compileLater(httpPart, httpPart === 'body' ? exact : converting, schema)

/**
 * Makes the check of a value that comes in no request of HTTP, such as a frame; it converts nothing.
 * @param part names the value in messages
 */
export function checkOf<S extends TSchema> (part: string, schema: S): (value: unknown) => Static<S> {
  const check = compileLater(part, exact, closed(schema))
  return value => {
    const result = check(value)
    if (result !== true) throw result.error
    return value as Static<S>
  }
}

function compileLater (part: string, ajv: Ajv2020, schema: object): (value: unknown) => true | { readonly error: ServiceError } {
  let validate: ValidateFunction | undefined
  return value => {
    validate ??= ajv.compile(schema)
    return validate(value) || isValidInNumbers(validate, value as Json) ? true : { error: violationOf(part, validate.errors as ErrorObject[]) }
  }
}

/** Whether a refused value is valid once its integers beyond 2^53, which ajv does not know, are replaced by the nearest numbers. */
function isValidInNumbers (validate: ValidateFunction, value: Json): boolean {
  return holdsBigint(value) && validate(toNumbers(value))
}
