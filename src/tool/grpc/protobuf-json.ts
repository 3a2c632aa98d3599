import { type Enum, type Field, type IConversionOptions, type Type } from 'protobufjs'
import { type Json, type JsonObject } from '../../base/json.ts'
import { beginningOf } from '../../base/text.ts'
import { isObject } from '../../template/value.ts'

/**
 * The options by which protobufjs converts a message to JSON: names as in the .proto file, zero values present, enums by name, bytes as
 * base64. 64-bit integers are converted later.
 */
const MAPPING: IConversionOptions = { defaults: true, enums: String, bytes: String, json: true }

/** Encodes arguments as a protobuf message. @throws Error when the values do not fit the message */
export function encodeMessage (type: Type, values: JsonObject): Buffer {
  return type.encode(type.fromObject(fromJson(values, type) as Record<string, unknown>)).finish() as Buffer
}

/** Decodes a protobuf message to JSON. @throws Error when the bytes are no such message */
export function decodeMessage (type: Type, bytes: Buffer): Json {
  return toJson(type.toObject(type.decode(bytes), MAPPING), type)
}

/**
 * Converts JSON for protobufjs, which takes 64-bit integers only as texts. A text that is no value name of its enum is refused here, since
 * protobufjs would send 0 for it.
 */
function fromJson (value: Json, type: Type | undefined, field?: Field): unknown {
  if (typeof value === 'bigint') return int64(value)
  if (Array.isArray(value)) return value.map(item => fromJson(item as Json, type, field))
  if (typeof value === 'string') checkEnumText(value, field)
  if (!isObject(value)) return value
  const members = convertMembers(value as JsonObject, type, writeKey, fromJson)
  // protobufjs reads fields without asking whether they are the object's own, and would find a `constructor` in every object.
  return type === undefined ? members : Object.assign(Object.create(null) as object, members)
}

/** The most value names of an enum that one error message lists. */
const MAX_SHOWN_TEXTS = 20

function checkEnumText (text: string, field: Field | undefined): void {
  const type = field?.resolvedType ?? undefined
  if (field === undefined || type === undefined || !('values' in type)) return
  const texts = Object.keys((type as Enum).values)
  if (texts.includes(text)) return
  const shown = texts.slice(0, MAX_SHOWN_TEXTS).join(', ')
  throw new Error(`${field.name} must be one of ${shown}${texts.length > MAX_SHOWN_TEXTS ? ', …' : ''}, not ${JSON.stringify(beginningOf(text, 100))}`)
}

function int64 (value: bigint): string {
  if (value !== BigInt.asIntN(64, value) && value !== BigInt.asUintN(64, value)) throw new Error(`${value} does not fit into 64 bits`)
  return value.toString()
}

/** Converts a decoded message to JSON. 64-bit integers, which are `Long` objects, keep all their digits. */
function toJson (value: unknown, type: Type | undefined): Json {
  if (typeof value !== 'object' || value === null) return value === undefined ? null : value as Json
  if (Array.isArray(value)) return value.map(item => toJson(item, type))
  if ((value as { __isLong__?: unknown }).__isLong__ === true) return toInteger(String(value))
  return convertMembers(value as Record<string, unknown>, type, readKey, toJson)
}

function toInteger (digits: string): number | bigint {
  const number = Number(digits)
  return Number.isSafeInteger(number) ? number : BigInt(digits)
}

/** Converts the members of a message, and the keys of those members that are maps. */
function convertMembers<From, To> (
  message: Readonly<Record<string, From>>,
  type: Type | undefined,
  convertKey: (keyType: string, key: string) => string,
  convert: (value: From, type: Type | undefined, field: Field | undefined) => To
): Record<string, To> {
  return convertEntries(message, (name, value) => {
    const field = type !== undefined && Object.hasOwn(type.fields, name) ? type.fields[name] : undefined
    const inner = messageOf(field)
    if (field === undefined || !('keyType' in field) || typeof value !== 'object' || value === null) return [name, convert(value, inner, field)]
    return [
      name,
      convertEntries(value as Record<string, From>, (key, member) => [convertKey(field.keyType as string, key), convert(member, inner, field)]) as To
    ]
  })
}

function convertEntries<From, To> (object: Readonly<Record<string, From>>, convert: (name: string, value: From) => [string, To]): Record<string, To> {
  return Object.fromEntries(Object.entries(object).map(([name, value]) => convert(name, value)))
}

function messageOf (field: Field | undefined): Type | undefined {
  const type = field?.resolvedType ?? undefined
  return type !== undefined && 'fields' in type ? type : undefined
}

/** Converts a map's key for protobufjs, which takes each key of a `map<bool, …>` that is not empty for true. */
function writeKey (keyType: string, key: string): string {
  if (keyType !== 'bool' || key === 'true') return key
  if (key === 'false') return ''
  throw new Error('a key of a map<bool, …> must be "true" or "false"')
}

const SIGNED = new Set(['int64', 'sint64', 'sfixed64'])
const UNSIGNED = new Set(['uint64', 'fixed64'])

/** Converts a map's key from protobufjs, which gives a 64-bit key as 8 characters, one for each byte, and a missing key (0) as the text `0`. */
function readKey (keyType: string, key: string): string {
  if (key.length !== 8) return key
  const bytes = Buffer.from(key, 'latin1')
  if (SIGNED.has(keyType)) return String(bytes.readBigInt64LE())
  return UNSIGNED.has(keyType) ? String(bytes.readBigUInt64LE()) : key
}
