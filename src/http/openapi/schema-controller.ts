import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js'
import { type FastifySchemaCompiler, type FastifyServerOptions } from 'fastify'
import { type ServiceError } from '../../base/errors.ts'
import { holdsBigint, type Json, stringifyJson } from '../../base/json.ts'
import { toNumbers } from '../../tool/rest/exact-numbers.ts'
import { violationOf } from './plain-violations.ts'

type SchemaController = NonNullable<FastifyServerOptions['schemaController']>

/**
 * What a server checks requests and writes replies with. An option of it, since a server that is told of them later has
 * loaded Fastify's own compilers by then: 48 modules.
 */
export function schemaController (): SchemaController {
  // One serialiser for all replies: registrations hold integers that JSON.stringify alone refuses.
  const compilersFactory = { buildValidator: () => compile, buildSerializer: () => () => stringifyJson }
  // Fastify's type has validators made of a schema alone; its documentation says what they are made of.
  return { compilersFactory } as unknown as SchemaController
}

/** For bodies: exactly as they are written, and with nothing removed, since unknown fields go to the model. */
const exact = new Ajv2020({ validateSchema: false, strict: false, verbose: true })

/** For query strings and path parameters, which are all text. */
const converting = new Ajv2020({ validateSchema: false, strict: false, coerceTypes: true, useDefaults: true, verbose: true })

/**
 * Checks requests against their schemas. A schema is compiled when its first request comes: compiling all of them would take
 * a tenth of the start. The servers of a process share what is compiled.
 */
const compile: FastifySchemaCompiler<object> = ({ schema, httpPart = 'body' }) => compileLater(httpPart, httpPart === 'body' ? exact : converting, schema)

function compileLater (part: string, ajv: Ajv2020, schema: object): (value: unknown) => true | { readonly error: ServiceError } {
  let validate: ValidateFunction | undefined
  return value => {
    validate ??= ajv.compile(schema)
    return validate(value) || isValidInNumbers(validate, value as Json) ? true : { error: violationOf(part, validate.errors as ErrorObject[]) }
  }
}

/** ajv knows no integers beyond 2^53: what it has refused for one of them is right as the nearest number. */
function isValidInNumbers (validate: ValidateFunction, value: Json): boolean {
  return holdsBigint(value) && validate(toNumbers(value))
}
