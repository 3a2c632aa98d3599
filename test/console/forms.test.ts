import assert from 'node:assert/strict'
import { after, before, describe, it, type TestContext } from 'node:test'
import { type Browser } from 'playwright-core'
import { noChromium, startChromium } from '../helpers/chromium.ts'
import { buildConsole, openConsole, violationsOf } from '../helpers/console.ts'
import { startService } from '../helpers/service.ts'
import { waitFor } from '../helpers/wait-for.ts'

const PROMPT = {
  userPrompt: 'Greet {{variables.name}} {{variables.count}} times.',
  parameters: [{ name: 'name', type: 'string', minLength: 2, 'x-mine': { kept: true } }, { name: 'count', type: 'integer', default: 1, description: 'How often' }],
  defaults: { model: 'm' }
}
const CASES = [
  { description: 'greets', vars: { name: 'Ada', count: 2, extra: { deep: 1 } }, assert: [{ type: 'contains', value: 'Ada' }, { type: 'is-json', value: { type: 'object' } }], metadata: { owner: 'ann' } }
]

describe('Forms for parameters and tests', { skip: noChromium }, () => {
  let browser: Browser
  before(async () => {
    buildConsole()
    browser = await startChromium()
  })
  after(async () => { await browser.close() })

  async function open (t: TestContext, tab: string, prompt: object = PROMPT) {
    const service = await startService(t, { 'templates:team:greet': prompt, 'tests:team:greet': CASES }, { LOG_LEVEL: 'silent' })
    const page = await openConsole(t, browser, await service.listen(), `/prompts/team.greet?tab=${tab}`)
    const stored = async (key: string): Promise<unknown> => {
      const [value] = await service.store.read([`shenma:${key}:team:greet`])
      return value?.kind === 'text' ? JSON.parse(value.text) : undefined
    }
    return { ...service, page, stored }
  }

  it('edit parameters beside the JSON, and leave all that they cannot express', async t => {
    const { page, stored } = await open(t, 'settings')
    const first = page.getByRole('group', { name: 'Parameter name' })
    await first.getByText('"x-mine"').waitFor()
    await first.getByLabel('Description').fill('Who is greeted')
    await first.getByLabel('Allowed values').fill('Ada\nBob\n')
    await first.getByLabel('Default').selectOption('Ada')
    assert.ok(!await first.getByLabel('required').isChecked())
    const second = page.getByRole('group', { name: 'Parameter count' })
    await second.getByLabel('required').check()
    await second.getByLabel('Type').selectOption('number')
    await page.locator('.cm-content', { hasText: 'Who is greeted' }).waitFor()
    assert.deepEqual(await violationsOf(page), [])
    await page.getByRole('button', { name: 'Add parameter' }).click()
    const third = page.getByRole('group', { name: 'Parameter parameter3' })
    await third.getByLabel('Name').fill('place')
    await page.keyboard.press('Control+s')
    const { parameters: [name, count] } = PROMPT
    const wanted = { ...PROMPT, parameters: [{ ...name, description: 'Who is greeted', enum: ['Ada', 'Bob'], default: 'Ada' }, { ...count, type: 'number', required: true }, { name: 'place', type: 'string' }] }
    await waitFor('the save', async () => JSON.stringify(await stored('templates')).includes('place'))
    assert.deepEqual(await stored('templates'), wanted)
  })

  it('keep a JSON Schema a JSON Schema, and a name or value that cannot be used yet, also when the page is loaded again', async t => {
    const schema = { type: 'object', properties: { a: { type: 'number' }, b: { type: 'string' } }, required: ['a'], additionalProperties: false }
    const { page, stored } = await open(t, 'settings', { userPrompt: '{{variables.a}}', parameters: schema })
    await page.getByRole('group', { name: 'Parameter a' }).getByLabel('Name').fill('b')
    await page.getByText('Another one has this name.').waitFor()
    await page.reload()
    const name = page.getByRole('group', { name: 'Parameter a' }).getByLabel('Name')
    await name.waitFor()
    assert.equal(await name.inputValue(), 'b')
    assert.ok(await page.getByRole('button', { name: 'Save' }).isDisabled())
    await name.fill('c')
    const byDefault = page.getByRole('group', { name: 'Parameter c' }).getByLabel('Default')
    await byDefault.fill('1.5.')
    await page.getByText('This cannot be read yet.').waitFor()
    await page.getByRole('link', { name: 'Raw' }).click()
    await page.getByText('A text of JSON cannot be read yet').waitFor()
    await page.getByRole('link', { name: 'Settings' }).click()
    assert.equal(await byDefault.inputValue(), '1.5.')
    await byDefault.fill('1.5')
    await page.keyboard.press('Control+s')
    await waitFor('the save', async () => JSON.stringify(await stored('templates')).includes('1.5'))
    assert.deepEqual(await stored('templates'), { userPrompt: '{{variables.a}}', parameters: { ...schema, properties: { c: { type: 'number', default: 1.5 }, b: { type: 'string' } }, required: ['c'] } })
  })

  it('edit tests beside the JSON, by the parameters of the prompt, and leave all that they cannot express', async t => {
    const { page, stored } = await open(t, 'tests')
    const form = page.getByRole('group', { name: 'greets', exact: true })
    await form.getByText('"owner": "ann"').waitFor()
    await form.getByLabel(/^name text/).fill('Bob')
    await form.getByLabel(/^count/).fill('3')
    const second = form.getByRole('group', { name: 'expectation 1', exact: true })
    await second.getByLabel('Value').fill('Bob')
    await second.getByLabel('must not hold').check()
    await form.getByRole('button', { name: 'Add expectation' }).click()
    const third = form.getByRole('group', { name: 'expectation 3' })
    await third.getByLabel('Expectation', { exact: true }).selectOption('took at most')
    await third.getByLabel('Milliseconds').fill('500')
    // What is under the bar at the top is too small to be pressed, in the eyes of axe.
    await page.evaluate('scrollTo(0, 0)')
    assert.deepEqual(await violationsOf(page), [])
    await page.getByRole('button', { name: 'Save', exact: true }).last().click()
    const [{ vars, assert: [, json], ...rest }] = CASES as unknown as [typeof CASES[0]]
    await waitFor('the save', async () => JSON.stringify(await stored('tests')).includes('500'))
    assert.deepEqual(await stored('tests'), [{ ...rest, vars: { ...vars, name: 'Bob', count: 3 }, assert: [{ type: 'not-contains', value: 'Bob' }, json, { type: 'latency', threshold: 500 }] }])
    await page.locator('.cm-content').click()
    await page.keyboard.press('Control+a')
    await page.keyboard.insertText('[{ "description": "by hand" }')
    await page.getByText('The form comes back when').waitFor()
    await page.keyboard.insertText(']')
    await page.getByRole('group', { name: 'by hand' }).waitFor()
  })
})
