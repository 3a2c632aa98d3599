import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js'
import type { FastifySchemaCompiler, FastifyServerOptions } from 'fastify'
import { requestInvalid, type ServiceError } from '../base/errors.ts'
import { holdsBigint, isJsonObject, type Json, type JsonObject, stringifyJson } from '../base/json.ts'
import type { Static, TSchema } from '../base/schema-builder.ts'
import { kindInWords } from '../base/text.ts'
import { toNumbers } from '../tool/schema/schema-vocabulary.ts'
import type { App } from './app.ts'
import { violationOf } from './plain-violations.ts'

/*
 * A request holds what its schema names, and nothing else: what internal code trusts, such as who decides or which definition is meant, must
 * not be something that a caller can send beside it. So each object in the schemas of bodies, queries and frames is closed, unless
 * `additionalProperties: true` is written in it.
 */

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>
  readonly additionalProperties?: Schema | boolean
  readonly items?: Schema
  readonly anyOf?: readonly Schema[]
  /** Of a body that may come in several media types. */
  readonly content?: Readonly<Record<string, { readonly schema: Schema }>>
}

/** Closes the bodies and queries of all routes that are registered from now on, those of routes that declare none, too. */
export function closeRequests (app: App): void {
  app.addHook('onRoute', route => {
    const { schema } = route
    if (schema === undefined || schema.hide === true) return
    const { body, querystring } = schema as { readonly body?: Schema, readonly querystring?: Schema }
    route.schema = { ...schema, ...(body === undefined ? {} : { body: closed(body) }), querystring: querystring === undefined ? NOTHING : closed(querystring) }
  })
  app.addHook('preValidation', ({ body, routeOptions: { schema } }, _reply, done) => {
    done(schema?.body === undefined ? faultOfUnwanted(body as Json | undefined) : undefined)
  })
}

/** The query of a route that declares none. It is one object, which is compiled once for all of them. */
const NOTHING = { type: 'object', properties: {}, additionalProperties: false }

/** The error for the body of a request that takes none; `undefined` where nothing is in it. */
function faultOfUnwanted (body: Json | undefined): Error | undefined {
  if (body === undefined || body === null) return undefined
  if (!isJsonObject(body)) return requestInvalid(`body must be left out, or {}, not ${kindInWords(body)}`, { part: 'body' })
  const [name] = Object.keys(body)
  return name === undefined ? undefined : requestInvalid(`body must not have ${JSON.stringify(name.slice(0, 40))}: this call takes none`, { part: 'body' })
}

/** The closed copies, so that all servers of a process give the same one to the compiler, which compiles each once. */
const copies = new WeakMap<object, object>()

/** Gives a copy of a schema in which each object is closed that does not say whether it is. */
export function closed<S extends TSchema | Schema> (schema: S): S {
  const copy = copies.get(schema) ?? closedCopy(schema)
  copies.set(schema, copy)
  return copy as S
}

function closedCopy (schema: TSchema | Schema): object {
  const { properties, additionalProperties, items, anyOf, content } = schema as Schema
  return {
    ...schema,
    ...(properties === undefined
      ? {}
      : { properties: mapped(properties, closed), ...(additionalProperties === undefined ? { additionalProperties: false } : {}) }),
    ...(items === undefined ? {} : { items: closed(items) }),
    ...(anyOf === undefined ? {} : { anyOf: anyOf.map(closed) }),
    ...(content === undefined ? {} : { content: mapped(content, ({ schema, ...media }) => ({ ...media, schema: closed(schema) })) })
  }
}

function mapped<T> (members: Readonly<Record<string, T>>, each: (member: T) => T): Record<string, T> {
  return Object.fromEntries(Object.entries(members).map(([name, member]) => [name, each(member)]))
}

/**
 * The members of a model request that go on to the model: all but those that are the service's own. Only such requests have members that
 * nobody has named.
 */
export function passedOn (members: object, own: ReadonlySet<string>): JsonObject {
  return Object.fromEntries(Object.entries(members).filter(([name]) => !own.has(name))) as JsonObject
}

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
