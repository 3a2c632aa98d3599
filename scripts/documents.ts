import { readFileSync } from 'node:fs'
import { pino } from 'pino'
import { createApp } from '../src/app.ts'
import { configSchema, loadConfig } from '../src/config.ts'
import { documentDiagnostics } from '../src/registry/document-diagnostics.ts'
import { documentFunctions } from '../src/template/functions/document.ts'

interface Variable { readonly name: string, readonly fallback: string, readonly description: string }

/** Every file that is made from the code, by path: what `npm run docs` writes and a test compares. */
export async function generateDocuments (): Promise<Map<string, string>> {
  return new Map([
    ['.env.example', environmentExample()],
    ['README.md', withVariables(readFileSync('README.md', 'utf8'))],
    ['docs/diagnostics.md', documentDiagnostics()],
    ['docs/functions.md', documentFunctions()],
    ['openapi/openapi.json', await openApiDocument()]
  ])
}

function variables (): Variable[] {
  return Object.entries(configSchema.properties).map(([name, property]) => {
    const { default: fallback, description } = property as unknown as { default: unknown, description: string }
    return { name, fallback: String(fallback), description }
  })
}

function environmentExample (): string {
  const lines = variables().map(({ name, fallback, description }) => `# ${description.replaceAll('`', '')}\n${fallback === '' ? `# ${name}=` : `# ${name}=${fallback}`}\n`)
  return `# Every variable of the service, with its default. Made by npm run docs.\n\n${lines.join('\n')}`
}

/** The README with its table of variables renewed, between two comments. */
function withVariables (readme: string): string {
  const rows = variables().map(({ name, fallback, description }) => `| \`${name}\` | ${fallback === '' ? '' : `\`${fallback}\``} | ${description} |`)
  const table = ['| variable | default | what it is for |', '|---|---|---|', ...rows].join('\n')
  return readme.replace(/(<!-- variables -->\n)[\s\S]*?(<!-- end of variables -->)/, `$1${table}\n$2`)
}

async function openApiDocument (): Promise<string> {
  const app = await createApp(loadConfig({ STORE_DIR: 'examples' }), pino({ level: 'silent' }))
  try {
    return `${JSON.stringify(app.swagger(), null, 2)}\n`
  } finally {
    await app.close()
  }
}
