/** What tests use of it: the package has no types. */
declare module 'oidc-provider' {
  import type { IncomingMessage, ServerResponse } from 'node:http'

  export class Provider {
    constructor (issuer: string, configuration: object)
    callback (): (request: IncomingMessage, reply: ServerResponse) => Promise<void>
    on (event: 'grant.success' | 'grant.error', listener: (context: { readonly oidc: { readonly params: { readonly grant_type: string } } }) => void): this
  }
}
