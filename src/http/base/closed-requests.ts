import { requestInvalid } from '../../base/errors.ts'
import { isJsonObject, type Json, type JsonObject } from '../../base/json.ts'
import { type TSchema } from '../../base/schema-builder.ts'
import { kindInWords } from '../../base/text.ts'
import { type App } from './app-types.ts'

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
