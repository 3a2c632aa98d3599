// The types of the API for console/, made of openapi/openapi.json into .build/api.d.ts: what the console asks for and the API does not
// have is an error of types. npm run typecheck:console runs this first.
import { mkdirSync, writeFileSync } from 'node:fs'
import { fileURLToPath, pathToFileURL } from 'node:url'
import openapiTS, { astToString } from 'openapi-typescript'

process.chdir(fileURLToPath(new URL('..', import.meta.url)))
mkdirSync('.build', { recursive: true })
writeFileSync('.build/api.d.ts', astToString(await openapiTS(pathToFileURL('openapi/openapi.json'))))
