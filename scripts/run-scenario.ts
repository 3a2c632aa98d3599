import { execFileSync } from 'node:child_process'
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { ANYONE } from '../src/access/caller.ts'
import { loadConfig } from '../src/config/config.ts'
import { openService } from '../src/service.ts'
import { type Golden } from '../src/service/sessions/traces.ts'
import { type Scenario } from './golden-scenarios.ts'

const SILENT = { debug () {}, info () {}, warn () {}, error () {} }

/** Plans as a scenario says, in a folder of its own, and gives the golden trace of it. */
export async function runScenario ({ goal, files = {}, answers, says = [], schema = 1, profile = {}, check, isRepository = false }: Scenario): Promise<Golden> {
  const folder = await mkdtemp(join(tmpdir(), 'golden-'))
  const write = async (path: string, text: string): Promise<void> => {
    await mkdir(dirname(join(folder, path)), { recursive: true })
    await writeFile(join(folder, path), text)
  }
  await Promise.all([
    schema === 1
      ? cp('examples/plans/papayu.yaml', join(folder, 'store/plans/default.yaml'))
      : write('store/plans/default.yaml', JSON.stringify({ schema, language: 'en', ...profile })),
    write('shop/.gitignore', ''),
    write('operator.yaml', JSON.stringify({
      workspaces: { shop: { path: 'shop', checks: check === undefined ? {} : { test: check }, commit: isRepository } },
      policy: [{ on: 'exec', effect: 'allow', command: 'git commit' }]
    })),
    write('replies.yaml', JSON.stringify(answers.map(([last, answer]) => ({ ...(last === '' ? {} : { last }), reply: JSON.stringify(answer) })))),
    ...Object.entries(files).map(([path, text]) => write(`shop/${path}`, text))
  ])
  if (isRepository) makeRepository(join(folder, 'shop'))
  const service = await openService(loadConfig({
    ALLOW_ROOT: 'true',
    STORE_DIR: join(folder, 'store'),
    STATE_DIR: join(folder, 'state'),
    SESSION_STORE: 'memory',
    OPERATOR_FILE: join(folder, 'operator.yaml'),
    LLM_BASE_URL: 'builtin:script',
    LLM_SCRIPT_FILE: join(folder, 'replies.yaml')
  }), SILENT)
  try {
    const { registry, sessions, sessionKinds: { plans }, traces } = service
    const visitor = { caller: ANYONE, requestId: '', signal: new AbortController().signal }
    const { session: { id } } = await sessions.start(plans, visitor, registry.generation, { goal, workspace: 'shop' })
    for (const said of says) {
      if (typeof said === 'string') await sessions.say(plans, visitor, id, { text: said })
      else await write(`shop/${said.write}`, said.text)
    }
    return await traces.golden(ANYONE, id)
  } finally {
    await service.close()
    await rm(folder, { recursive: true })
  }
}

function makeRepository (path: string): void {
  const git = (...words: string[]): void => { execFileSync('git', ['-C', path, ...words]) }
  git('init', '--quiet')
  git('config', 'user.name', 'Ann')
  git('config', 'user.email', 'ann@example.com')
  git('add', '.')
  git('commit', '--quiet', '-m', 'First')
}
