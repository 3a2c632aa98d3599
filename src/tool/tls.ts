/** The operator's certificates for TLS connections to tools. Without them, the system's trusted authorities count, and no client certificate is sent. */
export interface TlsFiles {
  /** The certificates of the trusted authorities, as PEM. */
  readonly ca: Buffer | null
  /** The key and the certificate of this service itself, as PEM. */
  readonly key: Buffer | null
  readonly cert: Buffer | null
}

export const SYSTEM_TLS: TlsFiles = { ca: null, key: null, cert: null }
