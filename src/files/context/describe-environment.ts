import { arch, platform } from 'node:process'
import { type WorkspaceFiles } from '../workspace-files.ts'

/** The names of files that say how a project is built, and of short files that say which version of a language it needs. */
const MANIFESTS = [
  'package.json', 'package-lock.json', 'pnpm-lock.yaml', 'yarn.lock', 'bun.lockb', 'tsconfig.json', 'pyproject.toml', 'requirements.txt',
  'poetry.lock', 'uv.lock', 'Pipfile', 'setup.py', 'tox.ini', 'go.mod', 'Cargo.toml', 'pom.xml', 'build.gradle', 'Gemfile', 'composer.json',
  'Makefile', 'Dockerfile', 'docker-compose.yml'
]
const VERSIONS = ['.nvmrc', '.node-version', '.python-version', '.ruby-version', '.tool-versions']

const MAX_VERSION = 200

/**
 * Describes for a model, in a few lines, where a project runs: platform, build files, versions. It leaves out the service's environment
 * variables, which can contain secrets.
 */
export async function describeEnvironment (files: WorkspaceFiles): Promise<string> {
  const found: string[] = []
  for (const name of MANIFESTS) if (await isFile(files, name)) found.push(name)
  const versions: string[] = []
  for (const name of VERSIONS) {
    const text = await files.read(name).then(({ bytes }) => bytes.toString('utf8', 0, MAX_VERSION).trim(), () => '')
    if (text !== '') versions.push(`${name}: ${text.replaceAll('\n', ', ')}`)
  }
  return [
    `platform: ${platform} ${arch}`,
    `node: ${process.versions.node}`,
    `files: ${found.length === 0 ? 'none of the usual ones' : found.join(', ')}`,
    ...versions
  ].join('\n')
}

async function isFile (files: WorkspaceFiles, path: string): Promise<boolean> {
  return await files.now(path).then(({ mark }) => mark !== null && mark !== 'folder', () => false)
}
