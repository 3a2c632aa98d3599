// npm run screenshots: a picture of every screen of the console in three widths, light and dark, in .build/screenshots, over a service
// that this starts with something of everything. They are for looking at, one by one. With --docs those of the README, and no others.
import { copyFileSync, mkdirSync } from 'node:fs'
import { test } from 'node:test'
import { type Page } from 'playwright-core'
import { openPage, startChromium } from '../test/helpers/chromium.ts'
import { buildConsole } from '../test/helpers/console.ts'
import { startScene } from '../test/helpers/console-scene.ts'

const FOLDER = '.build/screenshots'
const WIDTHS = [1280, 1920, 390]
const IN_README = ['workbench', 'approvals', 'plan']

test('screenshots', async t => {
  buildConsole()
  mkdirSync(FOLDER, { recursive: true })
  const scene = await startScene(t)
  const browser = await startChromium()
  t.after(() => browser.close())
  const page = await openPage(t, browser, scene.origin)
  const isForDocs = process.argv.includes('--docs')
  for (const scheme of isForDocs ? ['light'] as const : ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme: scheme })
    for (const width of isForDocs ? [1280] : WIDTHS) {
      await page.setViewportSize({ width, height: width === 390 ? 844 : 800 })
      for (const { name, path, prepare } of scene.screens.filter(screen => !isForDocs || IN_README.includes(screen.name))) {
        await page.goto(`${scene.origin}/console${path}`)
        await settle(page)
        await prepare?.(page)
        await page.screenshot({ path: `${FOLDER}/${name}-${width}-${scheme}.png` })
      }
    }
  }
  if (!isForDocs) return
  mkdirSync('docs/images', { recursive: true })
  for (const name of IN_README) copyFileSync(`${FOLDER}/${name}-1280-light.png`, `docs/images/${name}.png`)
})

async function settle (page: Page): Promise<void> {
  await page.locator('main h1').first().waitFor()
  await page.locator('.loading').first().waitFor({ state: 'detached' })
  // The last of what comes a moment later: previews, counts, events of a session.
  await page.waitForTimeout(600)
}
