import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { type App } from '../base/app-types.ts'

/**
 * The page with which skills are tried, at `/examples/term.html`.
 * @param file HTML with one script and one style, and nothing from elsewhere
 * @throws what reading the file throws
 */
export function examplePageRoute (app: App, file: string): void {
  const html = readFileSync(file, 'utf8')
  const headers = {
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-cache',
    // Its own script and style run, and no other: https://www.w3.org/TR/CSP3/#unsafe-hashes-usage
    'content-security-policy': `default-src 'none'; script-src ${hashOf('script', html)}; style-src ${hashOf('style', html)}; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff'
  }
  app.get('/examples/term.html', { schema: { hide: true } }, (_request, reply) => reply.headers(headers).send(html))
}

function hashOf (element: string, html: string): string {
  const [, content = ''] = new RegExp(`<${element}>([^]*?)</${element}>`).exec(html) ?? []
  return `'sha256-${createHash('sha256').update(content).digest('base64')}'`
}
