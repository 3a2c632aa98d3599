import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createSecureContext } from 'node:tls'
import { type Config } from '../../config/config.ts'
import { type TlsFiles } from '../../tool/tls.ts'

const CERTIFICATES = /-----BEGIN ((?:TRUSTED |X509 )?CERTIFICATE)-----[^-]+-----END \1-----/g

/**
 * Reads and checks the operator's files for TLS connections to tools. Node itself ignores invalid certificates of authorities, and a key
 * without a certificate, and reports other faults only at the first call of a tool.
 * @throws Error that names the variable
 */
export function readTlsFiles ({ TOOL_TLS_CA_FILE: caFile, TOOL_TLS_KEY_FILE: keyFile, TOOL_TLS_CERT_FILE: certFile }: Config): TlsFiles {
  if ((keyFile === '') !== (certFile === '')) {
    const given = keyFile === '' ? 'TOOL_TLS_CERT_FILE' : 'TOOL_TLS_KEY_FILE'
    throw new Error(`TOOL_TLS_KEY_FILE and TOOL_TLS_CERT_FILE: expected both of them, got only ${given}`)
  }
  const ca = readPem('TOOL_TLS_CA_FILE', caFile, 'certificates', parseCertificates)
  const key = readPem('TOOL_TLS_KEY_FILE', keyFile, 'a private key without a passphrase', createPrivateKey)
  const cert = readPem('TOOL_TLS_CERT_FILE', certFile, 'a certificate', parseCertificates)
  if (key !== null && cert !== null) checkPair(key, cert)
  return { ca, key, cert }
}

function readPem (variable: string, path: string, expected: string, parse: (pem: Buffer) => unknown): Buffer | null {
  if (path === '') return null
  const pem = named(variable, () => readFileSync(path))
  named(`${variable}: expected a PEM file with ${expected}`, () => parse(pem))
  return pem
}

/** Parses all certificates of a file. A damaged one is an error here, whereas Node would skip it. */
function parseCertificates (pem: Buffer): X509Certificate[] {
  const certificates = Array.from(pem.toString('latin1').matchAll(CERTIFICATES), ([text]) => new X509Certificate(text))
  if (certificates.length === 0) throw new Error('there is none in it')
  return certificates
}

/** Checks that a key belongs to a certificate. `createSecureContext` would accept a key of another type, so the certificate is asked first. */
function checkPair (key: Buffer, cert: Buffer): void {
  const variables = 'TOOL_TLS_KEY_FILE and TOOL_TLS_CERT_FILE'
  if (!new X509Certificate(cert).checkPrivateKey(createPrivateKey(key))) throw new Error(`${variables}: expected the key of the certificate, got another one`)
  named(variables, () => createSecureContext({ key, cert }))
}

function named<T> (place: string, read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw new Error(`${place}: ${(error as Error).message}`)
  }
}
