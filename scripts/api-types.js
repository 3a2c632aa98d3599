// The types of the API for console/ and src/cli, made of openapi/openapi.json into .build/api.d.ts: what they ask for and the API does
// not have is an error of types. npm run typecheck runs this first.
import { mkdirSync, writeFileSync } from 'node:fs'
import { fileURLToPath, pathToFileURL } from 'node:url'
import openapiTS, { astToString } from 'openapi-typescript'

process.chdir(fileURLToPath(new URL('..', import.meta.url)))
mkdirSync('.build', { recursive: true })
writeFileSync('.build/api.d.ts', astToString(await openapiTS(pathToFileURL('openapi/openapi.json'))))
