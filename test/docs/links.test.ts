import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { describe, it } from 'node:test'
import { configSchema } from '../../src/config/config-schema.ts'

// What a reader follows, types or copies, in every page.

const pages = ['README.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'bench/README.md', ...readdirSync('docs').filter(file => file.endsWith('.md')).map(file => `docs/${file}`)]
const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: Record<string, string> }
const { paths } = JSON.parse(readFileSync('openapi/openapi.json', 'utf8')) as { paths: Record<string, object> }

/** Paths that are no part of the documented API. */
const OTHER_PATHS = [/^\/docs(\/|$)/, /^\/openapi\.json$/, /^\/mcp$/, /^\/console\//, /^\/ws$/, /^\/metrics$/, /^\/$/]

/** Variables of other programs, of the command line, of the scripts, and those that an operator names; and what plans do. */
const OTHER_VARIABLES = [/^OTEL_/, /^TOOL_SECRET_/, /^EXAMPLE_/, /^GF_/, /^NODE_ENV$/, /^APS_/, /^(?:CREATE|UPDATE|EDIT|DELETE)_(?:FILE|DIR)$/]

const consolePages = readdirSync('console', { recursive: true }).map(String).filter(file => file.endsWith('.tsx')).map(file => `console/${file}`)
const starters = readdirSync('examples/starters').map(name => `examples/starters/${name}/README.md`).filter(file => existsSync(file))

describe('npx aps', () => {
  it('is shown only by pages that say where it is not the package of a stranger', () => {
    const shown = [...pages, ...consolePages, ...starters].filter(page => readFileSync(page, 'utf8').includes('npx aps'))
    assert.deepEqual(shown.filter(page => !/\bin a checkout/i.test(readFileSync(page, 'utf8'))), [])
    assert.deepEqual(shown.toSorted(), ['README.md', 'docs/command-line.md'])
  })
})

describe('the pages', () => {
  it('begin with a README of at most 120 lines', () => {
    assert.ok(readFileSync('README.md', 'utf8').trimEnd().split('\n').length <= 120)
  })

  for (const page of pages) {
    const text = readFileSync(page, 'utf8')

    it(`${page} links to files and headings that exist`, () => {
      const links = Array.from(withoutCode(text).matchAll(/\]\((?!https?:)([^)\s]+)\)/g), ([, link]) => link as string)
      assert.deepEqual(links.filter(link => !leadsSomewhere(page, link)), [])
    })

    it(`${page} names only scripts that exist`, () => {
      const named = Array.from(text.matchAll(/npm run (?:--silent )?([\w:-]+)/g), ([, name]) => name as string)
      assert.deepEqual(named.filter(name => !Object.hasOwn(scripts, name)), [])
      for (const [, file = ''] of text.matchAll(/\bnode (scripts\/[\w-]+\.js)/g)) assert.ok(existsSync(file), file)
      for (const [, file = ''] of text.matchAll(/npm test -- (\S+\.ts)/g)) assert.ok(existsSync(file), file)
    })

    it(`${page} calls only paths that the API has`, () => {
      const called = Array.from(text.matchAll(/\bcurl\b[^\n]*?(?:https?:\/\/)?(?:127\.0\.0\.1|localhost):80\d\d(\/[^\s'"`?]*)?/g), ([, path]) => path ?? '/')
      const shown = Array.from(text.matchAll(/`?\b(?:GET|POST|PUT|DELETE|PATCH) (\/[\w/{}.:…-]*)/g), ([, path]) => path as string)
      assert.deepEqual([...called, ...shown].filter(path => !isKnown(path)), [])
    })

    it(`${page} names only variables that the service has`, () => {
      const shell = Array.from(text.matchAll(/^```sh\n(.*?)^```$/gms), ([, block]) => block as string).join('\n')
      const set = Array.from(shell.matchAll(/(?:^|\s)([A-Z][A-Z0-9_]{3,})=/g), ([, name]) => name as string)
      const said = Array.from(text.matchAll(/`([A-Z][A-Z0-9]*_(?:URL|URLS|DIR|MS|BYTES|PREFIX|MODEL|KEY|FILE|TOKENS|SECRETS|COMMANDS|LIMIT|LEVEL|VALUES|ORIGINS|FALLBACKS|CONCURRENCY))\b/g), ([, name]) => name as string)
      assert.deepEqual([...set, ...said].filter(name => !isVariable(name)), [])
    })
  }

  it('docs/operations.md names metrics that exist for its alerts', () => {
    const known = readFileSync('docs/observability.md', 'utf8')
    const alerts = /## Alerts\n(.*)/s.exec(readFileSync('docs/operations.md', 'utf8'))?.[1] ?? ''
    const named = Array.from(alerts.matchAll(/`((?:registry|http|render|tool|model|overhead)_[a-z_]+)/g), ([, name]) => name?.replace(/_count$/, ''))
    assert.ok(named.length >= 10)
    assert.deepEqual(named.filter(name => !known.includes(`\`prompt_shell_${name}\``)), [])
  })

  it('the chart names only variables that the service has', () => {
    const named = Array.from(readFileSync('deploy/helm/ai-prompt-shell/values.yaml', 'utf8').matchAll(/^# {2}([A-Z][A-Z_]+):/gm), ([, name]) => name as string)
    assert.ok(named.length >= 5)
    assert.deepEqual(named.filter(name => !isVariable(name)), [])
  })
})

function isVariable (name: string): boolean {
  return Object.hasOwn(configSchema.properties, name) || OTHER_VARIABLES.some(other => other.test(name))
}

function withoutCode (text: string): string {
  return text.replace(/^```.*?^```$/gms, '').replace(/(?<!\[)`[^`\n]*`(?!\])/g, '')
}

function leadsSomewhere (page: string, link: string): boolean {
  const [file = '', anchor] = link.split('#')
  const target = file === '' ? page : normalize(join(dirname(page), file))
  if (!existsSync(target)) return false
  if (anchor === undefined || anchor === '') return true
  return statSync(target).isFile() && headingsOf(readFileSync(target, 'utf8')).includes(anchor)
}

/** The anchors of a page's headings, as GitHub makes them. */
function headingsOf (text: string): string[] {
  return Array.from(text.replace(/^```.*?^```$/gms, '').matchAll(/^#+ (.*)$/gm), ([, heading = '']) =>
    heading.toLowerCase().replace(/[^\p{L}\p{N}\s_-]/gu, '').trim().replaceAll(/\s/g, '-'))
}

function isKnown (path: string): boolean {
  if (OTHER_PATHS.some(other => other.test(path))) return true
  // `/api/…/{id}` and `/api/*` stand for several.
  if (path.includes('…')) return true
  const given = path.replace(/[.:]$/, '').split('/')
  return Object.keys(paths).some(known => {
    const segments = known.split('/')
    return segments.length === given.length && segments.every((segment, index) => segment.startsWith('{') || segment === given[index] || given[index]?.startsWith(':') === true)
  })
}
