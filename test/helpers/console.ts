import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { type TestContext } from 'node:test'
import { type Browser, type BrowserContextOptions, type Page } from 'playwright-core'

/** What a page is opened with. */
export interface ConsoleWishes extends Pick<BrowserContextOptions, 'colorScheme' | 'hasTouch' | 'locale' | 'viewport'> {
  readonly token?: string
}

/** Builds the console unless it is built: `npm test` does it before. */
export function buildConsole (): void {
  if (existsSync('dist/console/index.html') && existsSync('.build/console-meta.json')) return
  execFileSync(process.execPath, ['--input-type=module', '--eval', 'await (await import("./scripts/build-console.js")).buildConsole()'])
}

/** Opens a screen of the console in a context of its own. What goes wrong in the page, or its policy has refused, fails the test. */
export async function openConsole (t: TestContext, browser: Browser, origin: string, path: string, { token, ...wishes }: ConsoleWishes = {}): Promise<Page> {
  const context = await browser.newContext({ locale: 'en-GB', viewport: { width: 1280, height: 800 }, ...wishes })
  await context.addInitScript('addEventListener(\'securitypolicyviolation\', event => { (globalThis.refused ??= []).push(event.violatedDirective + \' \' + event.blockedURI + \' \' + event.sample) })')
  if (token !== undefined) await context.addInitScript(`sessionStorage.setItem('prompt-shell.token', ${JSON.stringify(token)})`)
  const page = await context.newPage()
  page.setDefaultTimeout(60_000)
  const errors: Error[] = []
  page.on('pageerror', error => errors.push(error))
  t.after(async () => {
    const refused = page.isClosed() ? [] : await page.evaluate('globalThis.refused ?? []').catch(() => []) as readonly string[]
    await context.close()
    if (errors[0] !== undefined) throw errors[0]
    if (refused.length > 0) throw new Error(`the page's policy has refused: ${refused.join(', ')}`)
  })
  await page.goto(`${origin}/console${path}`)
  return page
}

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** What is hard to use on a page, by axe-core's rules for WCAG 2.2 AA: each rule with the places that break it. */
export async function violationsOf (page: Page): Promise<readonly string[]> {
  // It is read by the browser's tools, which the page's policy does not bind.
  await page.evaluate(axe)
  const violations = await page.evaluate('axe.run(document, { runOnly: [\'wcag2a\', \'wcag2aa\', \'wcag21a\', \'wcag21aa\', \'wcag22aa\'] }).then(({ violations }) => violations.map(({ id, nodes }) => id + \': \' + nodes.slice(0, 3).map(({ html, failureSummary }) => html.slice(0, 160) + \' \' + failureSummary).join(\' | \')))')
  return violations as readonly string[]
}
