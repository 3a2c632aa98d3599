import { withoutEnd } from '../../base/text.ts'

/** The address of a model API (the upstream). */
export interface UpstreamAddress {
  /** The scheme, host and port: `https://api.openai.com`. */
  readonly origin: string
  /** The path of an endpoint below the base URL: `/v1/chat/completions`. */
  pathOf (endpoint: string): string
  /** The query, with its `?`, that follows every path; `''` for none. */
  readonly query: string
}

/**
 * Parses a base URL such as `https://api.openai.com/v1`, with or without a slash at its end. A query, such as Azure's `?api-version=`, is added to
 * every path.
 * @throws TypeError that says what is wrong with the URL
 */
export function parseBaseUrl (baseUrl: string): UpstreamAddress {
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol)) throw new TypeError('expected an http or https URL such as https://api.openai.com/v1')
  if (url.username !== '' || url.password !== '') throw new TypeError('expected a URL without credentials; the key belongs into LLM_API_KEY')
  const base = withoutEnd(url.pathname, '/')
  return { origin: url.origin, pathOf: endpoint => `${base}${endpoint}`, query: url.search }
}
