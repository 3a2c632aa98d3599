import { execFile, execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { type TestContext } from 'node:test'
import { promisify } from 'node:util'

/** What a registry says of a package beside what the package says itself. */
interface Manifest { readonly name: string, readonly version: string }

/**
 * A registry that has one package, and leads to the registry of this machine for all others. npm honours a shrinkwrap only in
 * packages that come from a registry.
 * @param tarball path of the package
 * @returns its address
 */
export async function openRegistry (t: TestContext, tarball: string): Promise<string> {
  const content = readFileSync(tarball)
  const manifest = JSON.parse(execFileSync('tar', ['-xzOf', tarball, 'package/package.json'], { encoding: 'utf8' })) as Manifest
  const others = realRegistry()
  const server = createServer(({ url = '' }, reply) => {
    if (url === `/${manifest.name}`) {
      const dist = { tarball: `${address}/package.tgz`, integrity: `sha512-${createHash('sha512').update(content).digest('base64')}` }
      reply.setHeader('content-type', 'application/json')
      reply.end(JSON.stringify({ name: manifest.name, 'dist-tags': { latest: manifest.version }, versions: { [manifest.version]: { ...manifest, _hasShrinkwrap: true, dist } } }))
    } else if (url === '/package.tgz') reply.end(content)
    else reply.writeHead(307, { location: `${others}${url}` }).end()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => { server.close() })
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return address
}

/** Packs the product as it is built. @returns the path of the tarball */
export async function packInto (folder: string): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, ['scripts/pack.js', folder])
  const [{ filename }] = JSON.parse(stdout) as [{ readonly filename: string }]
  return join(folder, filename)
}

/** Whether packages can be installed here at all. */
export async function isRegistryReachable (): Promise<boolean> {
  return await fetch(realRegistry()).then(({ ok }) => ok, () => false)
}

/** The address that npm is set up with here, without its last slash. */
function realRegistry (): string {
  return execFileSync('npm', ['config', 'get', 'registry'], { encoding: 'utf8' }).trim().replace(/\/$/, '')
}
