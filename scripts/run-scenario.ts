import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { ANYONE } from '../src/access/caller.ts'
import { loadConfig } from '../src/config/config.ts'
import { openService } from '../src/service.ts'
import { type Golden } from '../src/service/sessions/trace/golden.ts'
import { type Scenario } from './golden-scenarios.ts'

const SILENT = { debug () {}, info () {}, warn () {}, error () {} }

/** Plans as a scenario says, in a folder of its own, and gives the golden trace of it. */
export async function runScenario ({ goal, files = {}, answers, says = [] }: Scenario): Promise<Golden> {
  const folder = await mkdtemp(join(tmpdir(), 'golden-'))
  const write = async (path: string, text: string): Promise<void> => {
    await mkdir(dirname(join(folder, path)), { recursive: true })
    await writeFile(join(folder, path), text)
  }
  await Promise.all([
    // The golden traces are of schema 1.
    cp('examples/plans/papayu.yaml', join(folder, 'store/plans/default.yaml')),
    write('shop/.gitignore', ''),
    write('operator.yaml', 'workspaces: { shop: { path: shop } }'),
    write('replies.yaml', JSON.stringify(answers.map(([last, answer]) => ({ ...(last === '' ? {} : { last }), reply: JSON.stringify(answer) })))),
    ...Object.entries(files).map(([path, text]) => write(`shop/${path}`, text))
  ])
  const service = await openService(loadConfig({
    STORE_DIR: join(folder, 'store'),
    STATE_DIR: join(folder, 'state'),
    SESSION_STORE: 'memory',
    OPERATOR_FILE: join(folder, 'operator.yaml'),
    LLM_BASE_URL: 'builtin:script',
    LLM_SCRIPT_FILE: join(folder, 'replies.yaml')
  }), SILENT)
  try {
    const { registry, door, sessionKinds: { plans }, traces } = service
    const visitor = { caller: ANYONE, requestId: '', signal: new AbortController().signal }
    const { session: { id } } = await door.start(plans, visitor, registry.generation, { goal, workspace: 'shop' })
    for (const text of says) await door.say(plans, visitor, id, { text })
    return await traces.golden(ANYONE, id)
  } finally {
    await service.close()
    await rm(folder, { recursive: true })
  }
}
