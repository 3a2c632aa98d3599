import { existsSync } from 'node:fs'
import { type TestContext } from 'node:test'
import { type Browser, chromium, type Page } from 'playwright-core'

/** The paths at which systems have Chromium. Its headless shell is first: it takes half of the processor time, since it has no window's parts. */
const PLACES = [
  process.env['CHROME_PATH'], '/usr/bin/chromium-headless-shell', '/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome', '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome'
]

const executablePath = PLACES.find(path => path !== undefined && existsSync(path))

/** Why no browser can be started here; `false` when one can, and in continuous integration, where the tests fail without. */
export const noChromium = executablePath === undefined && process.env['CI'] === undefined ? 'Chromium is not installed, and CHROME_PATH names none' : false

/** Starts the installed Chromium, without a window. @param args further ones of its command line */
export async function startChromium (args: readonly string[] = []): Promise<Browser> {
  // The sandbox of Chromium needs a user who is not root.
  return await chromium.launch({ executablePath: executablePath as string, chromiumSandbox: process.getuid?.() !== 0, args: ['--disable-gpu', '--disable-dev-shm-usage', ...args] })
}

/** Opens a page with cookies and storage of its own, closed after the test; what goes wrong in it fails the test. */
export async function openPage (t: TestContext, browser: Browser, url: string): Promise<Page> {
  const context = await browser.newContext({ locale: 'en-US' })
  const page = await context.newPage()
  const errors: Error[] = []
  page.on('pageerror', error => errors.push(error))
  t.after(async () => {
    await context.close()
    if (errors[0] !== undefined) throw errors[0]
  })
  await page.goto(url)
  return page
}
