/** What the operator sets for TLS towards tools; without it, the system's roots and no client certificate. */
export interface TlsFiles {
  /** Certificates of the authorities to trust, as PEM. */
  readonly ca: Buffer | null
  /** This service's own key and certificate, as PEM. */
  readonly key: Buffer | null
  readonly cert: Buffer | null
}

export const SYSTEM_TLS: TlsFiles = { ca: null, key: null, cert: null }
