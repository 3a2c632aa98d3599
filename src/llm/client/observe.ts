import { type ModelWatch, type Outcome } from '../../runtime/activity.ts'
import { ServiceError } from '../../base/errors.ts'
import { type Answers, type CallOptions, type Layer, type OperationKind, withOptions } from '../model-client.ts'
import { UpstreamRefusal } from '../upstream-error.ts'

/**
 * Makes the `Layer` that reports every call of a model API to the observer of the request that needs the call. The time of a call includes the wait
 * for its turn while too many other calls run.
 * @param provider the name of the model API
 */
export function observe (provider: string): Layer {
  return ask => operation => {
    const { kind, request, call } = operation
    const watch = call.activity?.beginModelCall(kind === 'embeddings' ? 'embeddings' : 'chat', provider, request)
    return watch === undefined ? ask(operation) : report(watch, call, ask({ kind, request, call: withOptions(call, { watch }) }))
  }
}

async function report<T extends Answers[OperationKind]> (watch: ModelWatch, call: CallOptions, asking: Promise<T>): Promise<T> {
  try {
    const answer = await asking
    if ('ended' in answer) {
      watch.begun()
      void answer.ended.then(end => watch.streamed(end))
    } else watch.replied(answer.value)
    return answer
  } catch (error) {
    watch.failed(outcomeOf(error, call))
    throw error
  }
}

function outcomeOf (error: unknown, { signal }: CallOptions): Outcome {
  if (signal.aborted) return 'CLIENT_CLOSED'
  if (error instanceof UpstreamRefusal) return 'REFUSED'
  return error instanceof ServiceError ? error.code : 'INTERNAL'
}
