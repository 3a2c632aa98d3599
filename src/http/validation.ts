import type { FastifySchemaCompiler, FastifyServerOptions } from 'fastify'
import { requestInvalid, type ServiceError } from '../base/errors.ts'
import { isJsonObject, type Json, type JsonObject, stringifyJson } from '../base/json.ts'
import type { Static, TSchema } from '../schema/builder.ts'
import { describeKind } from '../base/text.ts'
import { ownChecker } from '../schema/compile.ts'
import type { App } from './app.ts'

// Security: objects in request schemas are closed, so that callers cannot send beside them what internal code trusts.

interface BodySchema {
  readonly properties?: Readonly<Record<string, BodySchema>>
  readonly additionalProperties?: BodySchema | boolean
  readonly items?: BodySchema
  readonly anyOf?: readonly BodySchema[]
  readonly content?: Readonly<Record<string, { readonly schema: BodySchema }>>
}

/** Refuses members and queries that a route does not declare, also where it declares no body or query. Call it before routes are registered. */
export function closeRequests (app: App): void {
  app.addHook('onRoute', route => {
    const { schema } = route
    if (schema === undefined || schema.hide === true) return
    const { body, querystring } = schema as { readonly body?: BodySchema, readonly querystring?: BodySchema }
    route.schema = { ...schema, ...(body === undefined ? {} : { body: closed(body) }), querystring: querystring === undefined ? NOTHING : closed(querystring) }
  })
  app.addHook('preValidation', ({ body, routeOptions: { schema } }, _reply, done) => {
    done(schema?.body === undefined ? faultOfUnwanted(body as Json | undefined) : undefined)
  })
}

/** One object, so that it is compiled once for all routes. */
const NOTHING = { type: 'object', properties: {}, additionalProperties: false }

function faultOfUnwanted (body: Json | undefined): Error | undefined {
  if (body === undefined || body === null) return undefined
  if (!isJsonObject(body)) return requestInvalid(`body must be left out, or {}, not ${describeKind(body)}`, { part: 'body' })
  const [name] = Object.keys(body)
  return name === undefined ? undefined : requestInvalid(`body must not have ${JSON.stringify(name.slice(0, 40))}: this call takes none`, { part: 'body' })
}

/** The closed copies, so that all servers of a process give the same one to the compiler, which compiles each once. */
const copies = new WeakMap<object, object>()

export function closed<S extends TSchema | BodySchema> (schema: S): S {
  const copy = copies.get(schema) ?? closedCopy(schema)
  copies.set(schema, copy)
  return copy as S
}

function closedCopy (schema: TSchema | BodySchema): object {
  const { properties, additionalProperties, items, anyOf, content } = schema as BodySchema
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

/** All members but the service's own; only requests to models have members that nobody has named. */
export function passedOn (members: object, own: ReadonlySet<string>): JsonObject {
  return Object.fromEntries(Object.entries(members).filter(([name]) => !own.has(name))) as JsonObject
}

type SchemaController = NonNullable<FastifyServerOptions['schemaController']>

/** Must be an option of the server: set later, Fastify would already have loaded its own compilers, 48 modules. */
export function schemaController (): SchemaController {
  // One serialiser for all replies: registrations contain bigint, which JSON.stringify refuses.
  const compilersFactory = { buildValidator: () => compile, buildSerializer: () => () => stringifyJson }
  // By Fastify's documentation compilers get more arguments than its type declares.
  return { compilersFactory } as unknown as SchemaController
}

/** The servers of a process share what is compiled of a schema. */
const compile: FastifySchemaCompiler<object> = ({ schema, httpPart = 'body' }) => {
  const faultOf = checkerOf(httpPart, schema, httpPart !== 'body')
  return value => {
    const error = faultOf(value)
    return error === undefined ? true : { error }
  }
}

/** For values outside HTTP, such as frames; converts nothing. @param part names the value in messages */
export function checkOf<S extends TSchema> (part: string, schema: S): (value: unknown) => Static<S> {
  const faultOf = checkerOf(part, closed(schema))
  return value => {
    const error = faultOf(value)
    if (error !== undefined) throw error
    return value as Static<S>
  }
}

function checkerOf (name: string, schema: object, isConverting = false): (value: unknown) => ServiceError | undefined {
  const check = ownChecker(name, schema, isConverting)
  return value => {
    const found = check(value)
    if (found === undefined) return undefined
    const { part, path, message } = found
    return requestInvalid(path === '' ? `${part} ${message}` : `${part}: ${path} ${message}`, { part, violations: [{ path, message }] })
  }
}
