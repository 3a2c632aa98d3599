/** The error of a reply with which the service refuses a request. A request that gets no reply fails with another error. */
export class ApiError extends Error {
  override readonly name = 'ApiError'
  readonly status: number
  readonly code: string
  readonly requestId: string
  readonly details: Readonly<Record<string, unknown>>

  constructor (status: number, body: unknown) {
    const { message, error, code, requestId, details } = (typeof body === 'object' && body !== null ? body : {}) as Record<string, unknown>
    super(typeof message === 'string' ? message : typeof error === 'string' ? error : `HTTP ${status}`)
    this.status = status
    this.code = typeof code === 'string' ? code : ''
    this.requestId = typeof requestId === 'string' ? requestId : ''
    this.details = typeof details === 'object' && details !== null ? details as Record<string, unknown> : {}
  }
}
