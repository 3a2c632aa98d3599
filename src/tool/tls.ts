/** The operator's TLS settings for connections to tools. Without them the system's authorities are trusted, and no client certificate is used. */
export interface TlsFiles {
  /** The certificates of the authorities to trust, as PEM. */
  readonly ca: Buffer | null
  /** The private key and certificate of this service, as PEM. */
  readonly key: Buffer | null
  readonly cert: Buffer | null
}

export const SYSTEM_TLS: TlsFiles = { ca: null, key: null, cert: null }
