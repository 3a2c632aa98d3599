import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { it } from 'node:test'

interface BillOfMaterials {
  readonly bomFormat: string
  readonly specVersion: string
  readonly serialNumber: string
  readonly metadata: { readonly component: { readonly name: string, readonly purl: string } }
  readonly components: ReadonlyArray<{ readonly name: string, readonly version: string, readonly purl: string, readonly licenses?: readonly unknown[] }>
}

it('npm run sbom lists every package that is shipped, and no other, as CycloneDX', () => {
  const bill = JSON.parse(execFileSync('npm', ['run', '--silent', 'sbom'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'], maxBuffer: 64 * 1024 * 1024 })) as BillOfMaterials
  const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string }
  assert.equal(bill.bomFormat, 'CycloneDX')
  assert.match(bill.specVersion, /^1\.\d$/)
  assert.match(bill.serialNumber, /^urn:uuid:[0-9a-f-]{36}$/)
  assert.equal(bill.metadata.component.name, 'ai-prompt-shell')
  assert.equal(bill.metadata.component.purl, `pkg:npm/ai-prompt-shell@${version}`)
  const listed = new Set(bill.components.map(component => decodeURIComponent(component.purl)))
  const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8')) as { packages: Record<string, { dev?: boolean, version: string }> }
  const wanted = Object.entries(packages).filter(([path, { dev }]) => path !== '' && dev !== true).map(([path, { version }]) => `pkg:npm/${path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)}@${version}`)
  assert.deepEqual([...listed].sort(), [...new Set(wanted)].sort())
})
