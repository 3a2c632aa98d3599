import { stringifyJson } from '../../base/json.ts'
import { openAiError, type UpstreamCode } from '../upstream-error.ts'

/** The event that ends a stream which has failed, in the format that this service documents. OpenAI's client throws it as an error. */
export function errorEvent (
  { message, code, upstream }: { readonly message: string, readonly code?: string | undefined, readonly upstream?: UpstreamCode | undefined }
): Buffer {
  return Buffer.from(
    `data: ${stringifyJson(openAiError(`The model's answer was cut short: ${message}`, upstream?.type ?? 'upstream_error', upstream?.code ?? code ?? 'LLM_UPSTREAM'))}\n\n`
  )
}
