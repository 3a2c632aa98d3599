import { cp, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext } from 'node:test'
import { type Page } from 'playwright-core'
import { startService } from './service.ts'
import { createTemporaryFolder } from './temporary-folder.ts'

/** One screen of a scene. */
export interface Screen {
  readonly name: string
  readonly path: string
  /** Brings it to where it says most. */
  readonly prepare?: (page: Page) => Promise<void>
}

/** A service with something of everything, and its screens. */
export interface Scene {
  readonly origin: string
  readonly screens: readonly Screen[]
  /** A file of the workspace `shop`. */
  read (path: string): Promise<string>
}

const SUPPORT = {
  description: 'Answers a customer about one ticket',
  parameters: [{ name: 'product', type: 'string' }, { name: 'language', type: 'string', enum: ['English', 'German', 'Russian'], default: 'English' }, { name: 'customer', type: 'string' }, { name: 'ticket', type: 'number' }],
  messages: [
    { role: 'system', content: 'You answer customers of {{company.name}} about the\nproduct {{variables.product}}. Answer in {{variables.language}}.\n\nPolicy in force: {{> support.policy}}' },
    { role: 'user', content: 'Ticket {{variables.ticket}} of {{variables.customer}}:\n{{#with (crm_ticket id=variables.ticket)}}\n{{title}}, open since {{openedAt}}\n{{/with}}\nWrite the reply.' }
  ]
}

const REGISTRATIONS = {
  'templates:support:reply': SUPPORT,
  'templates:support:policy': 'Refunds only within 30 days.\nNever promise a date.',
  'templates:support:summary': { description: 'Three sentences about a ticket and its history', userPrompt: 'Sum up ticket {{variables.ticket}} in three sentences.' },
  'templates:support:classify': { description: 'Names the queue that a message belongs to', userPrompt: '{{with .variables.message}}Which queue is it for: {{.}}{{end}}' },
  'templates:review:diff': { description: 'Reviews a diff by the rules of a repository', userPrompt: 'Review {{.variables.diff}} by {{.review.rules}}.' },
  'templates:review:title': { description: 'A commit title of at most 50 characters', userPrompt: 'A title of at most 50 characters for {{variables.diff}}' },
  'templates:docs:outline': { description: 'Headings for a page of documentation', userPrompt: 'Headings for {{variables.page}}' },
  'environs:company:name': 'Northwind',
  'environs:review:rules': ['readability', 'tests', 'security'],
  'tools:crm:ticket': { module: 'crm', name: 'ticket', description: 'A ticket with its history', restful: { url: 'http://127.0.0.1:9/tickets/{id}', method: 'GET' }, parameters: [{ name: 'id', type: 'number' }], default: { title: 'CSV export does nothing', openedAt: '2026-11-18' } },
  'agents:desk': { mode: 'tools', help: 'Ask me who owns a service.', system: 'You answer in one sentence.', ask: ['find_ticket'], tools: [{ name: 'find_ticket', tool: 'crm.ticket', description: 'Finds a ticket', parameters: { id: { type: 'number', description: 'Its number' } } }], messages: {} },
  'skills:disk-full': '---\nname: disk-full\ndescription: Finds what fills a disk, and deletes nothing without asking.\nparams:\n  - name: host\n    description: The machine\n---\nFind what fills the disk.'
}

const REPLIES = [
  { last: 'Execute skill', reply: '[MESSAGE] I look at how full each file system is.' },
  { last: 'Continue after', reply: '[CMD] df -h --output=target,pcent .' },
  { last: 'Step 2 of', reply: '[CMD] du -sh . | sort -rh | head -5' },
  { last: 'owns', reply: 'The billing service belongs to team Payments; Ida answers for it this week.' },
  { system: 'PLAN', last: 'FILE[src/price.js]', reply: '{ "actions": [], "context_requests": [], "memory_patch": {}, "summary": "The discount begins with the eleventh piece: > in place of >= in src/price.js." }' },
  { system: 'PLAN', last: 'fix', reply: '{ "actions": [], "summary": "The code has to be read.", "memory_patch": {}, "context_requests": [{ "type": "read_file", "path": "src/price.js" }] }' },
  { system: 'APPLY', reply: JSON.stringify({ summary: 'The comparison is mended.', context_requests: [], memory_patch: {}, actions: [{ kind: 'UPDATE_FILE', path: 'src/price.js', content: '/** The price of some pieces: ten of them and more are a tenth cheaper. */\nexport function priceOf (pieces, each) {\n  const discount = pieces >= 10 ? 0.1 : 0\n  return pieces * each * (1 - discount)\n}\n' }] }) }
]

/** Starts the service of pictures: prompts, a mistake, an agent, a skill that waits, a plan that was made. */
export async function startScene (t: TestContext): Promise<Scene> {
  const folder = await createTemporaryFolder()
  t.after(folder.remove)
  await cp('examples/shop', join(folder.path, 'shop'), { recursive: true })
  await folder.write('replies.yaml', JSON.stringify(REPLIES))
  await folder.write('operator.json', JSON.stringify({ workspaces: { shop: { path: 'shop', checks: { test: 'node --test' } } }, targets: { web: { type: 'local', workspace: 'shop', sandbox: 'off', terminal: true } } }))
  const service = await startService(t, REGISTRATIONS, { LLM_BASE_URL: 'builtin:script', LLM_SCRIPT_FILE: join(folder.path, 'replies.yaml'), OPERATOR_FILE: join(folder.path, 'operator.json'), LOG_LEVEL: 'silent', STATE_DIR: join(folder.path, 'state') })
  const origin = await service.listen()
  service.store.set('shenma:templates:shop:offer', '{"userPrompt": "Your items:\\n{{#each variables.items}}\\n- {{name}}"}')
  const skill = async (): Promise<string> => String((await service.post('/api/skills/start', { terminalSessionId: 'web', skillId: 'disk-full', execution: 'approve', autoContinue: true })).json['data']?.['skillSessionId'])
  const [waits] = [await skill(), await skill()]
  const desk = String((await service.post('/api/agents/desk/sessions')).json['id'])
  await service.post(`/api/agents/sessions/${desk}/message`, { text: 'Who owns the billing service?' })
  const plan = String((await service.post('/api/plans', { goal: 'fix the price of ten pieces', workspace: 'shop' })).json['id'])
  await service.post(`/api/plans/${plan}/apply`, {})
  const terminal = String((await service.post('/api/terminals', { target: 'web' })).json['terminalId'])
  const values = { product: 'Atlas Export', customer: 'Ida Holm', ticket: 48213 }
  return {
    origin,
    read: path => readFile(join(folder.path, 'shop', path), 'utf8'),
    screens: [
      { name: 'prompts', path: '/prompts' },
      { name: 'workbench', path: '/prompts/support.reply', prepare: async page => { await fill(page, values) } },
      { name: 'settings', path: '/prompts/support.reply?tab=settings' },
      { name: 'releases', path: '/prompts/support.reply?tab=releases' },
      { name: 'uses', path: '/prompts/support.reply?tab=uses' },
      { name: 'variable', path: '/environs/review.rules' },
      { name: 'tools', path: '/tools' },
      { name: 'tool', path: '/tools/crm.ticket' },
      { name: 'problems', path: '/problems' },
      { name: 'usage', path: '/usage' },
      { name: 'sessions', path: '/sessions' },
      { name: 'start', path: '/sessions/new' },
      { name: 'start-skill', path: '/sessions/new?of=skills/disk-full' },
      { name: 'start-plan', path: '/sessions/new?of=plans/' },
      { name: 'skill', path: `/sessions/${waits}` },
      { name: 'timeline', path: `/sessions/${waits}?tab=timeline` },
      { name: 'session-uses', path: `/sessions/${waits}?tab=uses` },
      { name: 'chat', path: `/sessions/${desk}` },
      { name: 'plan', path: `/sessions/${plan}` },
      { name: 'approvals', path: '/approvals', prepare: async page => { await page.locator('.card footer .primary:enabled').first().waitFor() } },
      { name: 'traces', path: '/traces' },
      { name: 'terminal', path: `/terminals/${terminal}`, prepare: workInTerminal },
      { name: 'memory', path: '/memory' },
      { name: 'targets', path: '/targets' }
    ]
  }
}

async function fill (page: Page, values: Readonly<Record<string, unknown>>): Promise<void> {
  await page.getByRole('button', { name: 'Paste JSON' }).click()
  await page.getByRole('textbox', { name: 'JSON' }).fill(JSON.stringify(values))
  await page.getByRole('button', { name: 'Take them' }).click()
  const piece = page.locator('[data-piece]', { hasText: 'Atlas Export' })
  await piece.waitFor()
  await piece.hover()
}

/** Types two lines, and has a skill ask for its first command. */
async function workInTerminal (page: Page): Promise<void> {
  await page.getByText('at its prompt').waitFor()
  if (await page.locator('.card').count() > 0) return
  await page.keyboard.type('ls -la\n')
  await page.keyboard.type('wc -l src/*.js\n')
  await page.getByRole('button', { name: 'Skills' }).click()
  await page.getByRole('button', { name: 'Start disk-full' }).click()
  // It asks for its parameter first.
  await page.getByRole('button', { name: 'Start disk-full' }).click()
  await page.locator('.card').waitFor()
}
