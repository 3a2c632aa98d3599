import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { loadConfig } from '../../src/config/config.ts'
import { readTlsFiles } from '../../src/service/from-config.ts'
import { createTemporaryFolder } from '../helpers/temporary-folder.ts'

const certificate = readFileSync('test/tool/fixtures/localhost-cert.pem', 'utf8')
const key = readFileSync('test/tool/fixtures/localhost-key.pem', 'utf8')
const damaged = certificate.replace(/\n.{10}/, '\nAAAAAAAAAA')
const otherKey = generateKeyPairSync('ed25519').privateKey
const pem = { type: 'pkcs8', format: 'pem' } as const

type Contents = Partial<Record<'CA' | 'KEY' | 'CERT', string>>

describe('TOOL_TLS_*_FILE', () => {
  it('are read: authorities, a key and its certificate, with remarks around them', async t => {
    const { ca, key: readKey, cert } = await read(t, { CA: `# ours\n${certificate}\n# theirs\n${certificate}`, KEY: key, CERT: certificate + certificate })
    assert.deepEqual([ca?.length, readKey?.toString(), cert?.toString()], [2 * certificate.length + 17, key, certificate + certificate])
  })

  const refusals: readonly [how: string, contents: Contents, message: RegExp][] = [
    ['authorities without a certificate', { CA: key }, /^TOOL_TLS_CA_FILE: expected a PEM file with certificates: there is none in it$/],
    ['an empty file of authorities', { CA: '' }, /^TOOL_TLS_CA_FILE: expected a PEM file with certificates: there is none in it$/],
    ['authorities of which one is damaged', { CA: certificate + damaged }, /^TOOL_TLS_CA_FILE: expected a PEM file with certificates: /],
    ['a key without its certificate', { KEY: key }, /^TOOL_TLS_KEY_FILE and TOOL_TLS_CERT_FILE: expected both of them, got only TOOL_TLS_KEY_FILE$/],
    ['a certificate without its key', { CERT: certificate }, /^TOOL_TLS_KEY_FILE and TOOL_TLS_CERT_FILE: expected both of them, got only TOOL_TLS_CERT_FILE$/],
    ['a key that is none', { KEY: certificate, CERT: certificate }, /^TOOL_TLS_KEY_FILE: expected a PEM file with a private key without a passphrase: /],
    ['a key with a passphrase', { KEY: otherKey.export({ ...pem, cipher: 'aes-256-cbc', passphrase: 'hunter2' }) as string, CERT: certificate }, /^TOOL_TLS_KEY_FILE: expected a PEM file with a private key without a passphrase: /],
    ['a certificate that is none', { KEY: key, CERT: key }, /^TOOL_TLS_CERT_FILE: expected a PEM file with a certificate: there is none in it$/],
    ['the key of another certificate', { KEY: otherKey.export(pem) as string, CERT: certificate }, /^TOOL_TLS_KEY_FILE and TOOL_TLS_CERT_FILE: expected the key of the certificate, got another one$/]
  ]
  for (const [how, contents, message] of refusals) {
    it(`stop the start: ${how}`, async t => {
      await assert.rejects(read(t, contents), { message })
    })
  }

  it('stop the start where there is no such file', () => {
    assert.throws(() => readTlsFiles(loadConfig({ STORE_DIR: 'x', TOOL_TLS_CA_FILE: '/nowhere.pem' })), { message: /^TOOL_TLS_CA_FILE: ENOENT/ })
  })
})

async function read (t: TestContext, contents: Contents) {
  const folder = await createTemporaryFolder()
  t.after(folder.remove)
  const files = Object.entries(contents)
  for (const [name, text] of files) await folder.write(`${name}.pem`, text)
  return readTlsFiles(loadConfig({ STORE_DIR: 'x', ...Object.fromEntries(files.map(([name]) => [`TOOL_TLS_${name}_FILE`, join(folder.path, `${name}.pem`)])) }))
}
