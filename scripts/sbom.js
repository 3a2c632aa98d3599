// npm run sbom: the packages that are shipped, as CycloneDX on standard output. npm's own `--omit dev` also leaves out
// packages that are needed both here and by a development package, so those of development alone are taken out here.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

process.chdir(fileURLToPath(new URL('..', import.meta.url)))
const args = ['sbom', '--package-lock-only', '--sbom-format', 'cyclonedx', '--sbom-type', 'application']
const bill = JSON.parse(execFileSync('npm', args, { encoding: 'utf8', maxBuffer: 256 * 1024 * 1024, shell: process.platform === 'win32' }))
// A package that is there twice in one version is listed once, as the first of them: whether it is shipped is in the lock file.
const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8'))
const lasting = new Set(Object.entries(packages).filter(([, { dev }]) => dev !== true).map(([path, { version }]) => `${path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)}@${version}`))
const isShipped = ({ purl }) => lasting.has(decodeURIComponent(purl).replace(/^pkg:npm\//, ''))

// npm calls the product as the folder is called.
bill.metadata.component.name = JSON.parse(readFileSync('package.json', 'utf8')).name
bill.components = bill.components.filter(isShipped)
const shipped = new Set([bill.metadata.component, ...bill.components].map(component => component['bom-ref']))
bill.dependencies = bill.dependencies
  .filter(({ ref }) => shipped.has(ref))
  .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter(dependency => shipped.has(dependency)) }))
console.log(JSON.stringify(bill, null, 2))
