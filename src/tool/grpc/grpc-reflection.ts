import { type Client, type ServiceError } from '@grpc/grpc-js'
import { type Reader, type Writer } from 'protobufjs'
import { ToolError, unreachable } from '../tool-error.ts'

/** In ms, for all requests about one service. */
const TIMEOUT = 5000

/** The files of one service with all imported ones; the total size in bytes. */
const MAX_FILES = 200
const MAX_BYTES = 1024 * 1024

// https://github.com/grpc/grpc/blob/master/src/proto/grpc/reflection/v1/reflection.proto
const FILE_BY_FILENAME = 3
const FILE_CONTAINING_SYMBOL = 4
const FILE_DESCRIPTOR_RESPONSE = 4
const ERROR_RESPONSE = 7

// https://grpc.github.io/grpc/core/md_doc_statuscodes.html
const DEADLINE_EXCEEDED = 4
const RESOURCE_EXHAUSTED = 8
const UNIMPLEMENTED = 12
const UNAVAILABLE = 14

/** @returns an unparsed FileDescriptorSet of the service's file and all that it needs @throws ToolError */
export async function reflect (client: Client, service: string): Promise<Uint8Array> {
  const deadline = Date.now() + TIMEOUT
  let failure: unknown
  // Many servers only have the older version, which differs only in the name of the package.
  for (const version of ['v1', 'v1alpha']) {
    try {
      return await collect((field, text) => ask(client, version, deadline, field, text), service)
    } catch (error) {
      failure = error
      if (error instanceof ToolError) break
    }
  }
  throw describeFailure(failure as ServiceError | ToolError, service)
}

async function collect (askFor: (field: number, text: string) => Promise<Uint8Array>, service: string): Promise<Uint8Array> {
  const { Reader, Writer } = await loadWire()
  const set = Writer.create()
  const described = new Set<string>()
  const known = new Set<string>()
  let size = 0

  function keep (reply: Uint8Array): void {
    for (const { name, dependencies, bytes } of readFiles(Reader, reply, service)) {
      if (described.has(name)) continue
      described.add(name)
      size += bytes.length
      if (size > MAX_BYTES) throw new ToolError('REPLY_TOO_LARGE', `describes ${service} in more than ${MAX_BYTES} bytes`)
      set.uint32(1 << 3 | 2).bytes(bytes)
      for (const each of [name, ...dependencies]) known.add(each)
      if (known.size > MAX_FILES) throw tooManyFiles(service)
    }
  }

  keep(await askFor(FILE_CONTAINING_SYMBOL, service))
  // Names that an answer adds are visited later in this loop.
  for (const name of known) if (!described.has(name)) keep(await askFor(FILE_BY_FILENAME, name))
  return set.finish()
}

function tooManyFiles (service: string): ToolError {
  return new ToolError('UNKNOWN_METHOD', `the server describes ${service} in more than ${MAX_FILES} files`)
}

/** Each request is a call of its own, since some servers answer only a call's first request. */
async function ask (client: Client, version: string, deadline: number, field: number, text: string): Promise<Uint8Array> {
  const { Writer } = await loadWire()
  const pass = (bytes: Buffer) => bytes
  const call = client.makeBidiStreamRequest(`/grpc.reflection.${version}.ServerReflection/ServerReflectionInfo`, pass, pass, { deadline })
  try {
    return await new Promise<Uint8Array>((resolve, reject) => {
      call.once('data', resolve)
      call.on('error', reject)
      call.once('end', () => reject(new ToolError('REPLY_INVALID', 'its reflection ended without a reply')))
      call.write(Writer.create().uint32(field << 3 | 2).string(text).finish() as Buffer)
      call.end()
    })
  } finally {
    call.cancel()
  }
}

function * readFiles (reader: typeof Reader, reply: Uint8Array, service: string) {
  for (const [field, content] of members(reader, reply, new Set([FILE_DESCRIPTOR_RESPONSE, ERROR_RESPONSE]))) {
    if (field === ERROR_RESPONSE) {
      throw new ToolError('UNKNOWN_METHOD', `the server does not describe ${service}`, { quote: readError(reader, content).slice(0, 200) })
    }
    for (const [, bytes] of members(reader, content, new Set([1]))) yield readFile(reader, bytes, service)
  }
}

function readFile (reader: typeof Reader, bytes: Uint8Array, service: string) {
  let name = ''
  const dependencies: string[] = []
  for (const [field, content] of members(reader, bytes, new Set([1, 3]))) {
    if (field === 1) name = textOf(content)
    else if (dependencies.push(textOf(content)) > MAX_FILES) throw tooManyFiles(service)
  }
  return { name, dependencies, bytes }
}

function readError (reader: typeof Reader, bytes: Uint8Array): string {
  return [...members(reader, bytes, new Set([2]))].map(([, content]) => textOf(content)).at(-1) ?? ''
}

function * members (reader: typeof Reader, message: Uint8Array, wanted: ReadonlySet<number>): Generator<[field: number, content: Uint8Array]> {
  const input = reader.create(message)
  try {
    while (input.pos < input.len) {
      const tag = input.uint32()
      if ((tag & 7) === 2 && wanted.has(tag >>> 3)) yield [tag >>> 3, input.bytes()]
      else input.skipType(tag & 7)
    }
  } catch (error) {
    if (error instanceof ToolError) throw error
    throw new ToolError('REPLY_INVALID', 'its reflection sent what is no description')
  }
}

function textOf (bytes: Uint8Array): string {
  return Buffer.from(bytes).toString()
}

async function loadWire (): Promise<{ Reader: typeof Reader, Writer: typeof Writer }> {
  return (await import('protobufjs')).default
}

function describeFailure (error: ServiceError | ToolError, service: string): ToolError {
  if (error instanceof ToolError) return error
  const quote = error.details.slice(0, 200)
  switch (error.code) {
    case UNIMPLEMENTED:
      return new ToolError('UNKNOWN_METHOD', 'the server has no reflection: give "proto" or "descriptorSet"')
    case DEADLINE_EXCEEDED:
      return new ToolError('TIMEOUT', 'its reflection did not answer in time', { transient: true })
    case RESOURCE_EXHAUSTED:
      return new ToolError('REPLY_TOO_LARGE', `describes ${service} in a message that is too large`, { quote })
    case UNAVAILABLE:
      // The system's code, such as ECONNREFUSED, is only in the text of the message.
      return unreachable({ code: /\bE[A-Z]{4,}\b/.exec(error.message)?.[0], message: error.message })
    default:
      return new ToolError('STATUS', `its reflection answered with gRPC status ${error.code}`, { quote })
  }
}
