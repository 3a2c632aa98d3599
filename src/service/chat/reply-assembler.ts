import { isJsonObject, type Json, type JsonObject, type MutableObject, setMember } from '../../base/json.ts'
import { type ChunkFrame } from '../../llm/stream/frame.ts'
import { UpstreamError } from '../../llm/upstream-error.ts'

/** The longest answer that is put together from its pieces, in UTF-16 units of the stream. */
const MAX_LENGTH = 8 * 1024 * 1024

/** One choice (one of several answers) of a streamed reply, while its pieces arrive. */
interface Assembly {
  content: string
  readonly calls: AssembledCall[]
  /** Other members of the deltas (pieces of the message), such as `reasoning_content`. Some APIs expect them in the next request. */
  readonly others: MutableObject
}

/** A tool call in a streamed reply, while the pieces of its arguments arrive. Its other members are those of its first piece. */
interface AssembledCall {
  readonly index: Json | undefined
  readonly first: JsonObject
  arguments: string
}

/** Puts the pieces of a streamed reply together into whole messages. */
export class ReplyAssembler {
  readonly #choices = new Map<Json, Assembly>()
  #length = 0

  /**
   * Adds one piece (chunk) of the stream to the messages.
   * @returns whether the piece belongs to a tool call
   * @throws UpstreamError when the messages become too large to be held in memory
   */
  add ({ chunk, data }: ChunkFrame): boolean {
    this.#length += data.length
    if (this.#length > MAX_LENGTH) throw new UpstreamError(`the answer is larger than ${MAX_LENGTH} characters`, { retryable: false })
    const { choices } = chunk
    if (!Array.isArray(choices)) return false
    return choices.filter(isJsonObject).map(choice => this.#addChoice(choice)).includes(true)
  }

  /** The messages as far as they have arrived, one for each choice, in the shape in which a whole reply has them. */
  messages (): JsonObject[] {
    return Array.from(this.#choices.values(), ({ content, calls, others }) => ({
      role: 'assistant',
      content: content === '' && calls.length > 0 ? null : content,
      ...others,
      ...(calls.length === 0 ? {} : { tool_calls: calls.map(wholeCall) })
    }))
  }

  #addChoice ({ index = 0, delta = null }: JsonObject): boolean {
    const assembly = this.#choices.get(index) ?? { content: '', calls: [], others: {} }
    this.#choices.set(index, assembly)
    if (!isJsonObject(delta)) return false
    const { role: _role, content, tool_calls: calls, ...others } = delta
    if (typeof content === 'string') assembly.content += content
    for (const [name, piece] of Object.entries(others)) addPiece(assembly.others, name, piece)
    if (!Array.isArray(calls)) return false
    for (const call of calls as readonly Json[]) if (isJsonObject(call)) addCall(assembly.calls, call)
    return calls.length > 0
  }
}

/** Adds a piece to a member of a message. Texts and lists are joined; any other value replaces the one before. */
function addPiece (members: MutableObject, name: string, piece: Json): void {
  if (piece === null || piece === '') return
  const known = Object.hasOwn(members, name) ? members[name] as Json : null
  if (typeof known === 'string' && typeof piece === 'string') setMember(members, name, known + piece)
  // The list belongs to this message alone, so it can grow in place: copying it for each piece would take time in the square of its length.
  else if (Array.isArray(known) && Array.isArray(piece)) for (const each of piece as readonly Json[]) known.push(each)
  else setMember(members, name, Array.isArray(piece) ? [...piece as Json[]] : piece)
}

/**
 * Adds a piece to the tool call that it belongs to. The pieces of one call share an index. Some providers leave the index out, or give 0 to
 * every call: then a new id, which the following pieces may repeat, begins a new call.
 */
function addCall (calls: AssembledCall[], piece: JsonObject): void {
  const { index, id } = piece
  const text = isJsonObject(piece['function']) ? piece['function']['arguments'] : undefined
  const latest = index === undefined ? calls.at(-1) : calls.findLast(call => call.index === index)
  const begins = typeof id === 'string' && id !== '' && id !== latest?.first['id']
  const known = begins ? undefined : latest
  const added = typeof text === 'string' ? text : ''
  if (known === undefined) calls.push({ index, first: piece, arguments: added })
  else known.arguments += added
}

function wholeCall ({ first, arguments: text }: AssembledCall): JsonObject {
  const { index: _, ...call } = first
  return { ...call, function: { ...(first['function'] as JsonObject | undefined), arguments: text } }
}
