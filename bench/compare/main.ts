// npm run compare: this product beside LangGraph.js and Aider, each as its users run it, with one scripted model. The figures
// are those of docs/compare.md. --only dialogues|repairs runs one half; --without-peers leaves the peers out.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { langgraphSide } from './dialogues/langgraph-side.ts'
import { ourSide } from './dialogues/our-side.ts'
import { type Figures, type Scenario, SCENARIOS, type Stage } from './dialogues/scenarios.ts'
import { type Side } from './dialogues/side.ts'
import { installAider, installLanggraph } from './install.ts'
import { linesIn, linesOf } from './lines.ts'
import { repairRows, runRepairs, taskRows } from './repair/repair-table.ts'
import { startScriptedModel } from './scripted-model.ts'
import { startToolServer } from './tool-server.ts'

const { values: { only, 'without-peers': isAlone = false } } = parseArgs({ options: { only: { type: 'string' }, 'without-peers': { type: 'boolean' } } })
const HERE = 'bench/compare'

const model = await startScriptedModel()
try {
  if (only !== 'repairs') await compareDialogues()
  if (only !== 'dialogues') await compareRepairs()
} finally {
  await model.close()
}

async function compareDialogues (): Promise<void> {
  if (!isAlone) installLanggraph()
  const [tools, folder] = [await startToolServer(), await mkdtemp(join(tmpdir(), 'compare-dialogues-'))]
  const place = { folder, modelUrl: model.url, toolsUrl: tools.url }
  const sides = [ourSide(place), ...(isAlone ? [] : [langgraphSide(place)])]
  try {
    const rows: string[][] = []
    for (const scenario of SCENARIOS) {
      const figures = []
      for (const side of sides) figures.push(await runAt(side, scenario, { model, tools }))
      rows.push(...rowsOf(scenario.title, figures))
    }
    const written = [
      ['lines that a user writes', 'agents and tools', String(linesIn(`${HERE}/ours`, '#')), String(linesOf(`${HERE}/langgraph/agents.js`, ['//', '/**']))],
      ['', 'the service around them', '0', String(linesOf(`${HERE}/langgraph/server.js`, ['//', '/**']))]
    ]
    rows.push(...written.map(row => row.slice(0, 2 + sides.length)))
    printTable(['what happens', 'measure', ...sides.map(({ name }) => name)], rows)
    await rm(folder, { recursive: true })
  } catch (error) {
    console.error(`the logs are in ${folder}`)
    throw error
  } finally {
    await tools.close()
  }
}

async function runAt (side: Side, { title, run }: Scenario, stage: Stage): Promise<Figures> {
  await side.start()
  try {
    const figures = await run(side, stage)
    console.error(`${side.name}: ${title}: ${[...figures].map(([measure, figure]) => `${measure}: ${figure}`).join('; ')}`)
    return figures
  } finally {
    await side.kill()
  }
}

function rowsOf (title: string, figures: readonly Figures[]): string[][] {
  const measures = [...(figures[0]?.keys() ?? [])]
  return measures.map((measure, index) => [index === 0 ? title : '', measure, ...figures.map(each => each.get(measure) ?? '')])
}

async function compareRepairs (): Promise<void> {
  const aider = isAlone ? undefined : resolve(installAider())
  const pairs = await runRepairs(model, aider)
  printTable(['20 repairs', 'ai-prompt-shell', 'Aider'], repairRows(pairs))
  printTable(['task', 'ai-prompt-shell', 'calls', 'Aider', 'calls'], taskRows(pairs))
}

function printTable (head: readonly string[], rows: ReadonlyArray<readonly string[]>): void {
  console.log('')
  for (const row of [head, head.map(() => '---'), ...rows]) console.log(`| ${row.join(' | ')} |`)
}
