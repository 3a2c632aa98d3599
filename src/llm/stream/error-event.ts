import { stringifyJson } from '../../base/json.ts'
import { openAiError } from '../upstream-error.ts'

/** The event that ends a stream which has failed, in the format that this service documents. OpenAI's client throws it as an error. */
export function errorEvent (error: { readonly message: string, readonly code?: string | undefined }): Buffer {
  return Buffer.from(
    `data: ${stringifyJson(openAiError(`The model's answer was cut short: ${error.message}`, 'upstream_error', error.code ?? 'LLM_UPSTREAM'))}\n\n`
  )
}
