import { readFileSync } from 'node:fs'
import { pino } from 'pino'
import { createApp, addCacheMetrics, addNoticeMetrics, addRegistryMetrics, addSessionMetrics, type WatchedRegistry, type WatchedSessions } from '../src/app.ts'
import { loadConfig } from '../src/config/config.ts'
import { configSchema } from '../src/config/config-schema.ts'
import { byTopic } from './variable-groups.ts'
import { LOG_FIELDS } from '../src/http/request-log.ts'
import { type MetricDescription, Metrics } from '../src/observe/metrics.ts'
import { documentDiagnostics } from './document-diagnostics.ts'
import { documentFunctions, summariesOfFunctions, tableOfFunctions } from './document-functions.ts'
import { documentPromptFields } from './document-prompts.ts'

interface Variable { readonly name: string, readonly fallback: string, readonly description: string }

/** Every file that is made from the code, by path: what `npm run docs` writes and a test compares. */
export async function generateDocuments (): Promise<Map<string, string>> {
  return new Map([
    ['.env.example', environmentExample()],
    ['docs/configuration.md', withVariables(readFileSync('docs/configuration.md', 'utf8'))],
    ['docs/diagnostics.md', documentDiagnostics()],
    ['docs/functions.md', documentFunctions()],
    ['console/edit/functions.json', tableOfFunctions()],
    ['console/text/en/functions.json', summariesOfFunctions()],
    ['docs/prompts.md', withSection(readFileSync('docs/prompts.md', 'utf8'), 'prompt fields', documentPromptFields())],
    ['docs/observability.md', withObservability(readFileSync('docs/observability.md', 'utf8'))],
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
  const groups = byTopic(variables()).map(([title, own]) => {
    const lines = own.map(({ name, fallback, description }) => `# ${description.replaceAll('`', '')}\n${fallback === '' ? `# ${name}=` : `# ${name}=${fallback}`}\n`)
    return `## ${title}\n\n${lines.join('\n')}`
  })
  return `# Every variable of the service, with its default. Made by npm run docs.\n\n${groups.join('\n')}`
}

/** The page with its lists of variables renewed, between two comments. */
function withVariables (page: string): string {
  const lists = byTopic(variables()).map(([title, own]) => {
    const items = own.map(({ name, fallback, description }) => `- \`${name}\`${fallback === '' ? '' : ` (\`${fallback}\`)`}: ${description}`)
    return [`## ${title}`, '', ...items].join('\n')
  })
  return withSection(page, 'variables', lists.join('\n\n'))
}

/** Every field of the log, those of one meaning in one item, and every metric. */
function withObservability (page: string): string {
  const fields = LOG_FIELDS.map(([title, descriptions]) => {
    const items = Array.from(new Set(Object.values(descriptions)), description =>
      `- ${Object.keys(descriptions).filter(name => descriptions[name] === description).map(name => `\`${name}\``).join(', ')}: ${description}`)
    return [`**${title}**`, '', ...items].join('\n')
  })
  const metrics = describeMetrics().map(({ name, type, labels, help }) =>
    `- \`${name}\` (${type}${labels.length === 0 ? '' : ` by ${labels.map(label => `\`${label}\``).join(' ')}`}): ${help}`)
  return withSection(withSection(page, 'log fields', fields.join('\n\n')), 'metrics', metrics.join('\n'))
}

/** A page with what stands between two of its comments renewed. */
function withSection (page: string, name: string, text: string): string {
  return page.replace(new RegExp(`(<!-- ${name} -->\\n)[\\s\\S]*?(<!-- end of ${name} -->)`), (_match, start: string, end: string) => `${start}${text}\n${end}`)
}

function describeMetrics (): MetricDescription[] {
  const metrics = new Metrics()
  // To be described they are not read, so there need not be a registry.
  addRegistryMetrics(metrics.registry, {} as WatchedRegistry, '')
  addCacheMetrics(metrics.registry, {})
  addSessionMetrics(metrics.registry, {} as WatchedSessions, metrics.kinds)
  addNoticeMetrics(metrics.registry, undefined)
  return metrics.describe()
}

async function openApiDocument (): Promise<string> {
  const app = await createApp(loadConfig({ STORE_DIR: 'examples' }), pino({ level: 'silent' }))
  try {
    return `${JSON.stringify((await app.inject('/openapi.json')).json(), null, 2)}\n`
  } finally {
    await app.close()
  }
}
