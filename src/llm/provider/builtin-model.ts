import { type Readable } from 'node:stream'
import { type AskByKind, type CallOptions, MAX_EVENT_BYTES, type ModelReply, type ModelRequest, type ModelStream, type ModelUpstream } from '../model-client.ts'
import { createFrameParser, type Frame } from '../stream/frame.ts'

/** A model that answers by itself, without any network. */
export interface BuiltinModel {
  complete (request: ModelRequest, call: CallOptions): Promise<ModelReply>
  stream (request: ModelRequest, call: CallOptions): Promise<ModelStream>
  /** Answers a request for embeddings. */
  forward (): Promise<ModelReply>
}

/** Asks a built-in model as any other. */
export function openBuiltin (model: BuiltinModel): ModelUpstream {
  const byKind: AskByKind = {
    chat: ({ request, call }) => model.complete(request, call),
    stream: ({ request, call }) => model.stream(request, call),
    frames: async ({ request, call }) => {
      const { events, ended } = await model.stream(request, call)
      return { frames: framesOf(events), ended }
    },
    embeddings: () => model.forward()
  }
  return {
    ask: operation => byKind[operation.kind](operation),
    close: async () => {}
  }
}

async function * framesOf (events: Readable): AsyncGenerator<readonly Frame[], void> {
  const parser = createFrameParser(MAX_EVENT_BYTES, text => text)
  for await (const bytes of events) yield [...parser.feed(bytes as Buffer)]
}
