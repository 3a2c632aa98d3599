// npm run example:tools: the tool server that the examples' registrations point to. Installs what is missing.
import { fileURLToPath } from 'node:url'
import { installPackages } from './install.js'

process.chdir(fileURLToPath(new URL('..', import.meta.url)))
installPackages()
const { tsImport } = await import('tsx/esm/api')
await tsImport('../examples/tool-server/main.ts', import.meta.url)
