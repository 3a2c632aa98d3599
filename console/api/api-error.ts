/** The error of a reply with which the service refuses a request. A request that gets no reply fails with another error. */
export class ApiError extends Error {
  override readonly name = 'ApiError'
  readonly status: number
  readonly code: string
  readonly requestId: string
  readonly details: Readonly<Record<string, unknown>>

  constructor (status: number, body: unknown) {
    const { error, requestId, details, ...own } = objectOf(body)
    // Below /v1, and where a model's API refuses, it has the form of OpenAI's.
    const { message, code } = typeof error === 'object' ? objectOf(error) : own
    super(typeof message === 'string' ? message : typeof error === 'string' ? error : `HTTP ${status}`)
    this.status = status
    this.code = typeof code === 'string' ? code : ''
    this.requestId = typeof requestId === 'string' ? requestId : ''
    this.details = objectOf(details)
  }
}

/** Whether something is stored that the service cannot read, such as a text that is no JSON. */
export function isUnreadable (error: unknown): boolean {
  return error instanceof ApiError && error.details['key'] !== undefined && error.details['diagnostics'] !== undefined
}

function objectOf (value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? value as Record<string, unknown> : {}
}
